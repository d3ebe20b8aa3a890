import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { routerModule } from '../../modules/module-folder.ts';
import { needs } from '../../servers.ts';
import { CompiledCli, logged, logOf } from './cli.ts';
import { call } from './load.ts';

const cli = await CompiledCli.suite();

/** Its worker ends when it has answered. */
const ending = '(setImmediate(() => process.reallyExit(3)), process.pid)';

test(
  'workers lost while processes wait for their turn to reload are no worker-restart-failed',
  needs('uws'),
  async (t) => {
    const module = join(cli.folder, 'turns.mjs');
    const gate = join(cli.folder, 'turns.gate');
    const head = `import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';`;
    writeFileSync(module, routerModule('end', ending, head));
    const flags = ['--processes', '2', '--workers', '2', '--watchdog-timeout', '0'];
    const { server, url } = await cli.serveFor(t, [module, ...flags]);
    // The first process that reloads waits at the gate, and the other one for its turn.
    const wait = `console.log('waits');
while (!existsSync(${JSON.stringify(gate)})) await pause(1);`;
    writeFileSync(module, routerModule('end', ending, `${head}\n${wait}`));
    process.kill(server.child.pid ?? 0, 'SIGHUP');
    await server.seen('stdout', /waits/);
    const lost = new Set<unknown>();
    while (lost.size < 2) lost.add(await call(url, 'end'));
    await logged(server, /a worker was lost/, lost.size);
    writeFileSync(gate, '');
    await logged(server, /^reloaded$/, 2);
    const failed = logOf(server).filter(({ event }) => event === 'worker-restart-failed');
    assert.deepEqual(failed, []);
  },
);
