/** A service in a control group that gives it no further threads for a while, as a container at its limit of pids does. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CompiledCli } from '../supervisor/processes/cli.ts';
import { ask, call } from '../supervisor/processes/load.ts';
import { pidNow } from '../supervisor/processes/recovery.ts';
import { makeGroup } from './control-group.ts';
import { type Running, urlOf } from './process.ts';

const cli = await CompiledCli.suite();
const group = makeGroup({ pids: 'pids.max', '': 'pids.max' }, 'max');
const maxConnections = 20;
const reason = 'needs a control group of pids, which this process may not make';

describe('in a container that has as many threads as it may', {
  skip: group === undefined && reason,
}, () => {
  const allow = (threads: number | 'max'): void =>
    writeFileSync(join(group ?? '', 'pids.max'), String(threads));
  let server: Running;
  let url: string;
  before(async () => {
    const module = join(cli.folder, 'mortal.mjs');
    const text = `import { Router } from 'tandem-rpc';
export const router = new Router();
router.rpc({ name: 'where', placement: 'inline' }, () => process.pid);
router.rpc({ name: 'here', placement: 'worker' }, () => process.pid);
router.rpc({ name: 'die', placement: 'worker' }, () => process.reallyExit(1));`;
    writeFileSync(module, text);
    server = cli.runInGroup(group ?? '', [
      '--port',
      '0',
      '--workers',
      '1',
      '--spare-workers',
      '0',
      '--max-connections',
      String(maxConnections),
      module,
    ]);
    url = await urlOf(server);
  });
  after(async () => {
    allow('max');
    server.child.kill('SIGTERM');
    await server.exit;
    if (group !== undefined) rmdirSync(group);
  });

  test('a worker that is lost there costs its calls, not the process, and is replaced as soon as a thread can start', async () => {
    const pid = await pidNow(url);
    allow(1);
    const answer = await ask(url, { id: 1, method: 'die' });
    const error = { code: -32002, message: 'Worker lost', data: { reason: 'exit' } };
    assert.deepEqual(answer, { body: { jsonrpc: '2.0', id: 1, error } });
    await server.seen('stderr', /the system gives this process no thread/);
    assert.equal(await call(url, 'where'), pid);
    allow('max');
    assert.equal(await call(url, 'here'), pid);
  });

  test('more than half of the connections cost nothing there, though a thread is to count whose they are', async () => {
    const pid = await pidNow(url);
    allow(1);
    const { hostname, port } = new URL(url);
    const sockets = Array.from({ length: maxConnections / 2 + 3 }, () => connect(+port, hostname));
    // Those above the limit of their address are reset.
    for (const socket of sockets) socket.on('error', () => {});
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    assert.equal(await call(url, 'where'), pid);
    allow('max');
    for (const socket of sockets) socket.destroy();
    assert.equal(await call(url, 'where'), pid);
  });
});
