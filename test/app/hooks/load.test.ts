import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Dispatcher, RpcApp } from '../../../src/index.ts';
import { loadHooks } from '../../../src/server/app/hooks.ts';
import { fixture, runCli, startServer } from '../../cli/process.ts';
import { procedures } from './serve.ts';

const byToken = fixture('app/hooks/by-token.ts');

async function ask(url: string, token?: string): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: '{"id":1,"method":"who.worker"}',
  });
  return response.json();
}

describe('a hooks module', () => {
  for (const [name, more] of [
    ['under the supervisor', []],
    ['without it', ['--no-supervisor']],
  ] as const) {
    test(`in TypeScript guards what tandem serves, after SIGHUP too: ${name}`, async () => {
      const { server, url } = await startServer([procedures, '--hooks', byToken, ...more]);
      for (const signal of [undefined, 'SIGHUP'] as const) {
        if (signal !== undefined) {
          server.child.kill(signal);
          await server.seen('stderr', /nothing has changed|"reloaded"/);
        }
        assert.deepEqual(await ask(url, 'secret'), {
          jsonrpc: '2.0',
          id: 1,
          result: { user: 'ann' },
        });
        assert.deepEqual(await ask(url, 'guess'), {
          jsonrpc: '2.0',
          id: 1,
          error: { code: 4010, message: 'Who are you?' },
        });
        const document = await fetch(url);
        assert.equal(document.status, 403);
        await document.text();
      }
      server.child.kill('SIGTERM');
      assert.equal((await server.exit).code, 0);
      assert.doesNotMatch(server.stderr, /secret|guess/);
    });
  }

  for (const [name, message] of [
    [
      'misspelt.mjs',
      /^hooks .*misspelt\.mjs: it exports authentificate, did you mean authenticate\?$/,
    ],
    ['misspelt-beside.mjs', /^hooks .*: it exports autenticate, did you mean authenticate\?$/],
    ['none.mjs', /^hooks .*none\.mjs: it exports none of authenticate, onCall$/],
    ['no-function.mjs', /^hooks .*: authenticate: expected a function, got object$/],
    ['undefined.mjs', /^hooks .*: authenticate: it is undefined$/],
    ['throws.mjs', /no key to check tokens with/],
    ['missing.mjs', /^hooks: module .*missing\.mjs not found/],
  ] as const) {
    test(`that can not be one is a start-up error of one line: ${name}`, async () => {
      await assert.rejects(loadHooks(fixture(`app/hooks/${name}`)), (error: Error) => {
        assert.equal(error.name, 'StartupError');
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      });
    });
  }

  test('that can not be one keeps tandem from starting', async () => {
    for (const more of [[], ['--no-supervisor']]) {
      const hooks = ['--hooks', fixture('app/hooks/misspelt.mjs'), '--port', '0', ...more];
      const { code, stderr, stdout } = await runCli(['serve', procedures, ...hooks]);
      assert.equal(code, 1);
      assert.equal(stdout, '');
      const said = stderr.trim().split('\n').at(-1) ?? '';
      assert.match(
        said,
        /^tandem: hooks .*: it exports authentificate, did you mean authenticate\?$/,
      );
    }
  });
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
