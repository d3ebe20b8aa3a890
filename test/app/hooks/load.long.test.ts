import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fixture, runCli, startServer } from '../../cli/process.ts';
import { callAt, postJson } from '../../post-json.ts';
import { procedures } from './serve.ts';

const byToken = fixture('app/hooks/by-token.ts');

async function ask(url: string, token?: string): Promise<unknown> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await postJson(url, { id: 1, method: 'who.worker' }, headers)).json();
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

  test('that can not be one keeps tandem from starting', async () => {
    for (const more of [[], ['--no-supervisor']]) {
      const hooks = ['--hooks', fixture('app/hooks/misspelt.mjs'), '--port', '0', ...more];
      const { code, stderr, stdout } = await runCli(['serve', procedures, ...hooks]);
      assert.equal(code, 1);
      assert.equal(stdout, '');
      const said = stderr.trim().split('\n').at(-1) ?? '';
      assert.match(
        said,
        /^tandem: hooks .*: it exports authentificate; did you mean authenticate\?$/,
      );
    }
  });

  test('has its onCall told of each call that tandem serves', async () => {
    const { server, url } = await startServer([
      procedures,
      '--hooks',
      fixture('app/hooks/observes.ts'),
    ]);
    for (const method of ['who.inline', 'who.worker', 'nobody']) await callAt(url, method);
    server.child.kill('SIGTERM');
    const { code, stderr } = await server.exit;
    assert.equal(code, 0);
    assert.deepEqual(stderr.match(/^observed .*$/gm), [
      'observed who.inline 0 inline',
      'observed who.worker 0 worker',
      'observed nobody -32601 none',
    ]);
  });
});
