/** The procedures as a client has them: what a generated file says, and what the types of the client make of it. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { temporaryFolder } from '../files.ts';
import { generate, runsCommands } from './command.ts';
import { typeErrors } from './compile.ts';

function generated(...names: string[]): Promise<string> {
  const methods = names.map((name) => ({
    name,
    description: `Does ${name}.`,
    params: [{ name: 'n', required: true, schema: { type: 'number' } }],
    result: { name: 'result', schema: { type: 'string' } },
  }));
  return generate({ openrpc: '1.4.1', info: {}, methods });
}

function treeOf(text: string): string {
  return /^interface Procedures (\{.*?^\})/ms.exec(text)?.[1] ?? '';
}

/** What tsc says of statements with a client of a generated contract. */
function faults(t: TestContext, api: string, user: string): string {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'api.ts'), api);
  const head = `import { createClient } from 'tandem-rpc/client';
    import type { Contract } from './api.ts';
    const client = createClient<Contract>({ url: '' });\n`;
  writeFileSync(join(folder, 'user.ts'), head + user);
  return typeErrors(folder, ['api.ts', 'user.ts']);
}

describe('the procedures of a generated file', () => {
  runsCommands();
  it('nest by the segments of their names, each with its doc comment', async () => {
    assert.equal(
      treeOf(await generated('math.add', 'users', 'users.get', 'odd-name/x')),
      `{
  readonly math: {
    /** Does math.add. */
    readonly add: Method<Contract['math.add']>;
  };
  /** Does odd-name/x. */
  readonly 'odd-name/x': Method<Contract['odd-name/x']>;
  /** Does users. */
  readonly users: Method<Contract['users']> & {
    /** Does users.get. */
    readonly get: Method<Contract['users.get']>;
  };
}`,
    );
  });

  it('are what a client has', async (t) => {
    const api = await generated('math.add', 'users', 'users.get', 'batch', 'a.then', 'a.toString');
    const user = `
      void (client.math.add({ n: 1 }) satisfies Promise<string>);
      void client.users({ n: 1 });
      void client.users.get({ n: 1 }, { timeoutMs: 5 });
      void client.call('batch', { n: 1 });
      void client.call('a.then', [1]);
      void client.batch([['math.add', { n: 1 }]]);
      // @ts-expect-error n is a number
      void client.math.add({ n: '1' });
      // @ts-expect-error no such procedure
      void client.math.sub;
      // @ts-expect-error left to JavaScript
      void client.a;
      // @ts-expect-error read only
      client.math.add = client.users;`;
    assert.equal(faults(t, api, user), '');
  });

  it('of a stranger are bounded, and can not be mistaken for what stands around them', async (t) => {
    const deep = Array(200).fill('a').join('.');
    const names = [
      deep,
      '__proto__.x',
      'constructor',
      'Procedures',
      'Method',
      "it's",
      'x',
      'x.',
      '.',
      '~entry',
      'x.~tree',
    ];
    const api = await generated(...names);
    const user = `
      void client.call(${JSON.stringify(deep)}, { n: 1 });
      void client.Procedures({ n: 1 });
      void client["it's"]({ n: 1 });
      void client.x({ n: 1 });
      void client.x['~tree']({ n: 1 });`;
    assert.equal(faults(t, api, user), '');
    assert.ok(!treeOf(api).includes('__proto__'), api);
  });
});
