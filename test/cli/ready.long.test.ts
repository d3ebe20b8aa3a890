import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture, startCli } from './process.ts';

const delayMs = 400;
/** Holds each process up before it runs anything of ours. */
const slow = `data:text/javascript,Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${delayMs});`;

for (const flags of [[], ['--no-supervisor']]) {
  test(`the event serving counts from the start of the process: serve ${flags.join(' ')}`, async () => {
    const began = performance.now();
    const few = ['--port', '0', '--workers', '1', '--spare-workers', '0'];
    const running = startCli(['serve', fixture('cli/procedures.ts'), ...few, ...flags], {
      NODE_OPTIONS: `--import "${slow}"`,
    });
    const [, ms] = await running.seen('stderr', /"event":"serving".*"ms":(\d+)/);
    const elapsedMs = performance.now() - began;
    running.child.kill('SIGTERM');
    await running.exit;
    // The supervisor, then the process that it starts.
    const least = flags.length === 0 ? 2 * delayMs : delayMs;
    assert.ok(Number(ms) >= least, `${ms} ms`);
    assert.ok(Number(ms) <= elapsedMs, `${ms} of ${elapsedMs} ms`);
  });
}
