import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { until } from '../../turns.ts';
import { CompiledCli, isAlive, type Started, service } from './cli.ts';
import { ask, where } from './load.ts';
import { stickThread } from './stick-thread.ts';

const cli = await CompiledCli.suite();

const supervised = [service, '--shutdown-grace', '1s', '--watchdog-timeout', '0'];

/** Kills the supervisor; its process has gone when this resolves. */
async function orphan({ server }: Started, pid: number): Promise<void> {
  server.child.kill('SIGKILL');
  await until(() => !isAlive(pid));
}

describe('a process whose supervisor was killed ends', () => {
  for (const [when, isStuck, isBlocked] of [
    ['when it has drained', false, false],
    ['when its main thread loops for ever, after its grace', false, true],
    ['when a thread of it is stuck in native code', true, false],
    ['when both are so', true, true],
  ] as const)
    test(when, async (t) => {
      const started = await cli.serveFor(t, supervised);
      const pid = await where(started.url);
      const path = join(cli.folder, `let-go-of-${pid}`);
      t.after(() => {
        writeFileSync(path, '');
        if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      });
      if (isStuck) await stickThread(started.url, path);
      if (isBlocked) {
        void ask(started.url, { id: 2, method: 'block' });
        await started.server.seen('stdout', /block entered/);
      }
      await orphan(started, pid);
    });
});
