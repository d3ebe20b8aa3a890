import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { routerModule } from '../../modules/module-folder.ts';
import { needs } from '../../servers.ts';
import { CompiledCli, logged, logOf } from './cli.ts';
import { ask } from './load.ts';

const cli = await CompiledCli.suite();

/** Tells its process. Where that is asked for, its worker ends when it has answered. */
const ending = '(arguments[0].ends && setImmediate(() => process.reallyExit(3)), process.pid)';

async function pidOf(url: string, agent: Agent, ends: boolean): Promise<unknown> {
  const answer = await ask(url, { id: 1, method: 'end', params: { ends } }, agent);
  if ('failure' in answer) throw new Error(answer.failure);
  return (answer.body as { result: unknown }).result;
}

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
    // A connection to each process: two workers that are lost in one would leave it none.
    const agents = new Map<unknown, Agent>();
    while (agents.size < 2) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      t.after(() => agent.destroy());
      agents.set(await pidOf(url, agent, false), agent);
    }
    for (const agent of agents.values()) await pidOf(url, agent, true);
    await logged(server, /a worker was lost/, agents.size);
    writeFileSync(gate, '');
    await logged(server, /^reloaded$/, 2);
    const failed = logOf(server).filter(({ event }) => event === 'worker-restart-failed');
    assert.deepEqual(failed, []);
  },
);
