/**
 * Calls over HTTP against a server process, many of them of batch handlers. Some per cent of the calls are hostile. Beside them come uploads that are large,
 * held or given up, streams, some of which compute, reloads of bad edits, steps of the server's clock, and floods of connections, streams
 * and rubbish. Counts every answer and every execution, and
 * prints a table at the end. Exits with 1 if an answer was lost or went to another caller, if a call ran twice, or if memory,
 * threads or descriptors grew.
 */
import { randomInt } from 'node:crypto';
import { findFaketime } from '../test/faults/soak/clock.ts';
import { notesOf, tableOf } from '../test/faults/soak/report.ts';
import { soak } from '../test/faults/soak/soak.ts';
import { runNatsSoak } from '../test/nats/soak/soak.ts';
import { fail, readArguments, readCount, readNumber } from './arguments.ts';

const usage = `npm run soak -- [options]; FAULT_SEED=N repeats a run

  --calls 200000     calls in all
  --hostile 1        per cent of them that are hostile
  --minutes 0        the calls are spread over so many minutes at least
  --reloads 12       each behind a bad edit that must be refused
  --bursts 50        bursts of large bodies
  --clock-steps 16   steps of the server's clock, which need libfaketime
  --no-clock         leaves the clock alone
  --nats             each fault of a cluster over NATS in its turn, in place of all that

Ctrl-C ends the load early and counts what was sent.`;

const values = readArguments(usage, {
  calls: { type: 'string', default: '200000' },
  hostile: { type: 'string', default: '1' },
  minutes: { type: 'string', default: '0' },
  reloads: { type: 'string', default: '12' },
  bursts: { type: 'string', default: '50' },
  clock: { type: 'boolean', default: true },
  'clock-steps': { type: 'string', default: '16' },
  nats: { type: 'boolean', default: false },
});
if (values.nats) process.exit(await runNatsSoak());
const library = findFaketime();
if (values.clock && library === undefined) {
  fail(
    'steps of the clock need libfaketime: apt-get install -y faketime (--no-clock goes without them)',
  );
}
const steps = readCount('clock-steps', values['clock-steps']);
/** Each run has another seed, unless FAULT_SEED gives one. */
const seed = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
if (!Number.isSafeInteger(seed)) fail(`FAULT_SEED is an integer, not ${process.env.FAULT_SEED}`);
console.error(`FAULT_SEED=${seed}${values.clock ? '' : ', the clock is left alone'}`);
/** Ctrl-C ends the load early: what was sent is counted. A second one ends the soak. */
const stopping = new AbortController();
process.once('SIGINT', () => stopping.abort());
let shown = 0;
const report = await soak({
  seed,
  calls: readCount('calls', values.calls, 1),
  hostile: readNumber('hostile', values.hostile),
  minutes: readNumber('minutes', values.minutes),
  reloads: readCount('reloads', values.reloads),
  bursts: readCount('bursts', values.bursts),
  // Long enough for a busy machine. A bad edit may hang for so long while calls are served.
  startTimeoutMs: 30_000,
  clock: values.clock && library !== undefined ? { library, steps } : undefined,
  recoveryRounds: 10,
  signal: stopping.signal,
  onProgress: (sent) => {
    if (sent < shown + 20_000) return;
    shown = sent;
    console.error(`${sent} calls`);
  },
}).catch((error: Error) => fail(error.message));
console.log(`${tableOf(report)}\n\n${notesOf(report)}`);
const { violations } = report;
for (const violation of violations.slice(0, 20)) console.error(violation);
if (violations.length > 0) {
  console.error(`${violations.length} violations`);
  process.exitCode = 1;
}
