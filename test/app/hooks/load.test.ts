import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Dispatcher, RpcApp } from '../../../src/index.ts';
import { loadHooks } from '../../../src/server/app/hooks.ts';
import { fixture } from '../../cli/process.ts';
import { refusalOf } from '../../refusal.ts';
import { procedures } from './serve.ts';

const byToken = fixture('app/hooks/by-token.ts');

describe('a hooks module', () => {
  for (const [name, message] of [
    [
      'misspelt.mjs',
      /^hooks .*misspelt\.mjs: it exports authentificate; did you mean authenticate\?$/,
    ],
    ['misspelt-beside.mjs', /^hooks .*: it exports autenticate; did you mean authenticate\?$/],
    ['none.mjs', /^hooks .*none\.mjs: it exports none of authenticate, onCall$/],
    ['no-function.mjs', /^hooks .*: authenticate: expected a function, got object$/],
    ['undefined.mjs', /^hooks .*: authenticate: it is undefined$/],
    [
      'no-observer.mjs',
      /^hooks .*no-observer\.mjs: onCall: expected a function or a list of them, got string$/,
    ],
    ['throws.mjs', /no key to check tokens with/],
    ['missing.mjs', /^hooks: module .*missing\.mjs not found/],
  ] as const) {
    test(`that can not be one is a start-up error of one line: ${name}`, async () => {
      assert.match(await refusalOf(loadHooks(fixture(`app/hooks/${name}`))), message);
    });
  }
});

test('the file of tandem serve --codegen is refused in code: nobody would write it', () => {
  assert.throws(() => new RpcApp({ modules: [procedures], codegen: 'api.ts' }), {
    name: 'StartupError',
    message: /^option codegen: it is for tandem serve; in code run tandem codegen$/,
  });
});

describe('hooks in code', () => {
  test('a path is refused: a wall that nobody builds', () => {
    for (const make of [
      () => new RpcApp({ modules: [procedures], hooks: byToken }),
      () => new Dispatcher({ modules: [procedures], hooks: byToken }),
    ]) {
      assert.throws(make, {
        name: 'StartupError',
        message: /^option hooks: it is for tandem serve; in code /,
      });
    }
  });

  test('what is no function is refused', () => {
    for (const authenticate of [true, null, 'authenticate', {}]) {
      assert.throws(
        () => new RpcApp({ modules: [procedures], authenticate: authenticate as never }),
        {
          name: 'StartupError',
          message: /^option authenticate: expected a function, got /,
        },
      );
    }
  });

  test('a dispatcher takes no authenticate: its caller passes auth', () => {
    const options = { modules: [procedures], authenticate: () => null };
    assert.throws(() => new Dispatcher(options), { message: /^option authenticate is unknown/ });
  });
});
