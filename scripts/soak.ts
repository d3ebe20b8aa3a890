/**
 * `npm run soak -- --calls 200000 --hostile 1`: calls over HTTP against a server process, some per cent
 * of them hostile, and a reload now and then; counts every answer and every execution, and prints the
 * closing table. FAULT_SEED repeats a run. Ends with 1 if anything was lost, crossed or ran twice.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Trend } from '../test/faults/memory-trend.ts';
import { soak, spread, tableOf } from '../test/faults/soak.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '200000' },
    hostile: { type: 'string', default: '1' },
    reloads: { type: 'string', default: '10' },
  },
});
/** Each run is another, unless FAULT_SEED repeats one. */
const seed = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
console.error(`FAULT_SEED=${seed}`);
let shown = 0;
const report = await soak({
  seed,
  calls: Number(values.calls),
  hostile: Number(values.hostile),
  reloads: Number(values.reloads),
  recoveryRounds: 10,
  onProgress: (sent) => {
    if (sent < shown + 20_000) return;
    shown = sent;
    console.error(`${sent} calls`);
  },
});
const { seconds, refused, stormRecoveries, losses, reloads, memory, held, violations } = report;
console.log(tableOf(report));
console.log(
  `\n${Math.round(seconds)} s, ${losses} threads lost, ${reloads} reloads, ${refused} calls refused as overload; recovery when several were lost at a time: ${spread(stormRecoveries)} ms (median / max)`,
);
const perMinute = ({ slope, error }: Trend): string =>
  `${slope.toFixed(2)} +- ${error.toFixed(2)} MB/min`;
if (memory !== undefined) {
  console.log(
    `memory under load, slope and 95% interval: RSS ${perMinute(memory.rss)}, heap of the main thread ${perMinute(memory.heap)}`,
  );
}
const { before, after } = held;
console.log(
  `at rest, before and after: ${before.threads} and ${after.threads} threads, ${before.descriptors} and ${after.descriptors} descriptors, RSS ${Math.round(before.rssMb)} and ${Math.round(after.rssMb)} MB`,
);
for (const violation of violations.slice(0, 20)) console.error(violation);
if (violations.length > 0) {
  console.error(`${violations.length} violations`);
  process.exitCode = 1;
}
