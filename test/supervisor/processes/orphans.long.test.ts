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
  test('when it has drained', async (t) => {
    const started = await cli.serveFor(t, supervised);
    await orphan(started, await where(started.url));
  });

  test('when its main thread loops for ever, after its grace', async (t) => {
    const started = await cli.serveFor(t, supervised);
    const pid = await where(started.url);
    t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'));
    void ask(started.url, { id: 1, method: 'block' });
    await started.server.seen('stdout', /block entered/);
    await orphan(started, pid);
  });

  test('when a thread of it is stuck in native code', async (t) => {
    const started = await cli.serveFor(t, supervised);
    const pid = await where(started.url);
    const path = join(cli.folder, 'let-go-of-orphan');
    t.after(() => {
      writeFileSync(path, '');
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    });
    await stickThread(started.url, path);
    await orphan(started, pid);
  });

  test('when both are so', async (t) => {
    const started = await cli.serveFor(t, supervised);
    const pid = await where(started.url);
    const path = join(cli.folder, 'let-go-of-stuck-orphan');
    t.after(() => {
      writeFileSync(path, '');
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    });
    await stickThread(started.url, path);
    void ask(started.url, { id: 2, method: 'block' });
    await started.server.seen('stdout', /block entered/);
    await orphan(started, pid);
  });
});
