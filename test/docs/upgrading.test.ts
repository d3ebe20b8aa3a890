/** What docs/upgrading.md says of mistakes is what the package says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient } from '../../src/client/index.ts';
import { Dispatcher, procedure, Router, RpcApp, Type } from '../../src/index.ts';

/** The message of what is thrown, at once or later. */
async function messageOf(make: () => unknown): Promise<string> {
  try {
    await make();
  } catch (error) {
    return String(error);
  }
  return assert.fail('nothing is thrown');
}

/** As JavaScript passes them, which no compiler looks at. */
const untyped = (value: unknown): never => value as never;

const cases: readonly (readonly [title: string, make: () => unknown, says: RegExp])[] = [
  [
    'inlineBelowUs',
    () => new RpcApp(untyped({ inlineBelowUs: 50 })),
    /^StartupError: option inlineBelowUs is gone: .*placement: 'inline'$/,
  ],
  [
    'demoteAboveUs',
    () => new Dispatcher(untyped({ router: new Router(), demoteAboveUs: 50 })),
    /^StartupError: option demoteAboveUs is gone: /,
  ],
  [
    'listen(3000)',
    () => new RpcApp().listen(untyped(3000)),
    /^StartupError: listen: expected an object/,
  ],
  [
    'a misspelt member of listen',
    () => new RpcApp().listen(untyped({ prot: 3000 })),
    /^StartupError: .*prot.*port/,
  ],
  ['rateLimit: []', () => new RpcApp(untyped({ rateLimit: [] })), /^StartupError: .*rateLimit/],
  [
    'a misspelt option of createClient',
    () => createClient(untyped({ url: 'http://localhost/rpc', header: {} })),
    /^TypeError: .*header.*headers/,
  ],
  [
    'a handler that is undefined',
    () => new Router().rpc({ name: 'one' }, untyped(undefined)),
    /^RegistrationError: /,
  ],
  [
    'a pattern that takes too many steps',
    () => procedure({ params: { text: Type.String({ pattern: 'a{999}b' }) } }, () => 1),
    /^RegistrationError: .*64 steps/s,
  ],
];

describe('docs/upgrading.md: mistakes are told', () => {
  for (const [title, make, says] of cases) {
    test(title, async () => assert.match(await messageOf(make), says));
  }
});
