import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadHooks } from '../../../src/server/app/hooks.ts';
import { fixture, startServer } from '../../cli/process.ts';
import { callAt } from '../../post-json.ts';
import { procedures } from './serve.ts';

describe('onCall of a hooks module', () => {
  test('is told of each call that tandem serves', async () => {
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

  test('must be a function, or a list of them', async () => {
    const path = fixture('app/hooks/no-observer.mjs');
    await assert.rejects(loadHooks(path), {
      name: 'StartupError',
      message: `hooks ${path}: onCall: expected a function or a list of them, got string`,
    });
  });
});
