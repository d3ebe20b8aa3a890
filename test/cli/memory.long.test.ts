/** What a procedure takes with it that fills the heap of its worker: docs/reliability.md, "What is not covered". */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ask, call } from '../supervisor/processes/load.ts';
import { pidNow } from '../supervisor/processes/recovery.ts';
import { fixture, type Running, startServer } from './process.ts';

const lost = { code: -32002, message: 'Worker lost', data: { reason: 'memory' } };

describe('tandem serve with --worker-memory-mb 64', () => {
  let server: Running;
  let url: string;
  before(async () => {
    const limits = ['--worker-memory-mb', '64', '--max-queue-ms', '60s'];
    ({ server, url } = await startServer([fixture('cli/memory.ts'), ...limits]));
  });
  after(async () => {
    server.child.kill('SIGTERM');
    await server.exit;
  });

  for (const filler of ['strings', 'arrays']) {
    test(`heap full of small values (${filler}): the worker ends alone, and the call says so`, async () => {
      const pid = await pidNow(url);
      const answer = await ask(url, { id: 1, method: filler });
      assert.deepEqual(answer, { body: { jsonrpc: '2.0', id: 1, error: lost } });
      assert.equal(await call(url, 'works'), 'works');
      assert.equal(await pidNow(url), pid);
    });
  }

  for (const filler of ['oneArray', 'oneMap', 'oneSet', 'oneObject']) {
    test(`heap full of one growing value (${filler}): the worker or its process ends, and the service goes on`, async () => {
      const pid = await pidNow(url);
      const answer = await ask(url, { id: 1, method: filler });
      // Whether V8 ends the thread or the process differs by its version and by the value.
      if ('body' in answer) {
        assert.deepEqual(answer.body, { jsonrpc: '2.0', id: 1, error: lost });
        assert.equal(await pidNow(url), pid);
      } else {
        while ((await pidNow(url)) === pid);
      }
      assert.equal(await call(url, 'works'), 'works');
    });
  }
});
