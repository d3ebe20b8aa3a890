/** docs/operations.md, "Admin commands": what a change of the log level leaves behind. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createLog } from '../../src/core/observe/log.ts';
import { AdminSocket } from '../../src/server/process/admin-socket.ts';
import { temporaryFolder } from '../files.ts';
import { mockTimeouts } from '../mock-timeouts.ts';
import { turn } from '../turns.ts';

test('a log level that goes back leaves no listener behind, however often it was changed', async (t) => {
  mockTimeouts(t);
  const path = join(temporaryFolder(t), 'admin.sock');
  const log = createLog({ level: 'warn', write: () => {} });
  /** Listeners of the signals of the orders that went back. */
  const listeners: number[] = [];
  const socket = await AdminSocket.listen(path, log, async function* (order, left) {
    // As a supervisor does, which has each process carry out the order.
    left.addEventListener('abort', () => {});
    if (order.order === 'log-level' && order.forMs === 0)
      listeners.push(getEventListeners(left, 'abort').length);
    yield { process: 1, pid: process.pid };
  });
  t.after(() => socket.close());
  for (let change = 0; change < 3; change++) {
    const client = connect(path);
    client.write('{"order":"log-level","level":"debug","forMs":60000}\n');
    assert.match(await text(client), /\{"done":true\}\n$/);
    assert.equal(log.level, 'debug');
    t.mock.timers.tick(60_000);
    await turn();
    assert.equal(log.level, 'warn');
  }
  assert.deepEqual(listeners, [1, 1, 1]);
});
