import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { CompiledCli, logged, logOf, service } from './cli.ts';
import { ask, call, where } from './load.ts';

const cli = await CompiledCli.suite();

/**
 * The supervisor's wall clock, set by somebody while it runs: each look at it is an hour off the one before. The monotonic clock is
 * left alone, as `date -s` leaves it.
 */
function clockSet(direction: 'forward' | 'back'): string {
  const step = direction === 'forward' ? 3_600_000 : -3_600_000;
  return `
    const now = Date.now.bind(Date);
    let looks = 0;
    if (process.argv[1].endsWith('main.js')) Date.now = () => now() + ${step} * ++looks;
  `;
}

for (const direction of ['forward', 'back'] as const) {
  test(`a wall clock that is set ${direction} under the supervisor has nothing killed, restarted or kept from being so`, async (t) => {
    const preload = join(cli.folder, `clock-set-${direction}.mjs`);
    writeFileSync(preload, clockSet(direction));
    const env = { NODE_OPTIONS: `--import ${pathToFileURL(preload).href}` };
    // Long enough for a busy machine, which lets no process answer for some seconds.
    const args = [service, '--watchdog-timeout', '6s', '--max-process-mb', '300'];
    const { server, url } = await cli.serveFor(t, args, env);
    const first = await where(url);
    // As many figures as the watchdog would wait for, twice.
    for (let i = 0; i < 13; i++) await call(url, 'untilTick', { ms: 1000 });
    assert.equal(await where(url), first);
    assert.deepEqual(
      logOf(server).filter(({ event }) => /^(?:process|supervisor)-/.test(String(event))),
      [],
    );
    // An end is made good, and a bound that is passed again has the process replaced again.
    process.kill(first, 'SIGKILL');
    await logged(server, /has taken over/, 1);
    for (let i = 0; i < 2; i++) {
      // For a moment a call may come to a process that is going. Then none that stays holds anything.
      const replaced = logged(server, /has taken over/, i + 2);
      let isReplaced = false;
      void replaced.then(() => {
        isReplaced = true;
      });
      let holder: unknown;
      while (!isReplaced) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        if ((await where(url)) === holder) continue;
        const held = await ask(url, { id: 1, method: 'hold', params: { mb: 300 } });
        holder = 'body' in held ? (held.body as { result: number }).result : undefined;
      }
      await replaced;
    }
    server.child.kill('SIGTERM');
    assert.equal((await server.exit).code, 0);
  });
}
