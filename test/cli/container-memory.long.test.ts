/** A service in a control group with 256 MB of memory, as a small container is. */
import assert from 'node:assert/strict';
import { rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CompiledCli, logged } from '../supervisor/processes/cli.ts';
import { ask, call } from '../supervisor/processes/load.ts';
import { pidNow } from '../supervisor/processes/recovery.ts';
import { makeGroup } from './control-group.ts';
import { type Running, urlOf } from './process.ts';

const cli = await CompiledCli.suite();

const group = makeGroup({ memory: 'memory.limit_in_bytes', '': 'memory.max' }, 256 * 1024 ** 2);
const reason = 'needs a memory control group, which this process may not make';

describe('in a container of 256 MB', { skip: group === undefined && reason }, () => {
  let server: Running;
  let url: string;
  before(async () => {
    const module = join(cli.folder, 'greedy.mjs');
    const text = `import { setTimeout as pause } from 'node:timers/promises';
import { Router } from 'tandem-rpc';
export const router = new Router();
router.rpc({ name: 'where', placement: 'inline' }, () => process.pid);
router.rpc({ name: 'arrays', placement: 'worker' }, () => {
  for (const kept = []; ; ) kept.push(new Array(10_000).fill(0.5));
});
router.rpc({ name: 'buffers', placement: 'worker' }, async () => {
  for (const kept = []; ; await pause(1)) kept.push(Buffer.alloc(2 ** 20, 1));
});`;
    writeFileSync(module, text);
    server = cli.runInGroup(group ?? '', ['--port', '0', module]);
    url = await urlOf(server);
  });
  after(async () => {
    server.child.kill('SIGTERM');
    await server.exit;
    if (group !== undefined) rmdirSync(group);
  });

  test('a handler that fills the heap ends its worker alone, by the default of workerMemoryMb', async () => {
    const pid = await pidNow(url);
    const answer = await ask(url, { id: 1, method: 'arrays' });
    const error = { code: -32002, message: 'Worker lost', data: { reason: 'memory' } };
    assert.deepEqual(answer, { body: { jsonrpc: '2.0', id: 1, error } });
    assert.equal(await call(url, 'where'), pid);
  });

  test('a process that the system ends for its Buffers is named as ended for memory', async () => {
    void ask(url, { id: 1, method: 'buffers' });
    const [end] = await logged(server, /a server process ended/);
    assert.equal(end?.signal, 'SIGKILL');
    assert.match(String(end?.detail), /the service used all the memory that .* allows \(256 MB\)/);
    await pidNow(url);
  });
});
