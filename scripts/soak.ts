/**
 * `npm run soak`: load and faults for long, every answer counted. Exits with 1 if an accepted call was lost, if an answer went to
 * another caller, if a call ran twice, or if memory, threads or descriptors grew.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { messageOf } from '../src/core/base/message-of.ts';
import { mallocSettings } from '../src/server/supervisor/fork-server.ts';
import { Compiled, compiledTree } from '../test/compiled.ts';
import { trendOf } from '../test/faults/memory-trend.ts';
import { findFaketime } from '../test/faults/soak/clock.ts';
import { notesOf, tableOf } from '../test/faults/soak/report.ts';
import { soak } from '../test/faults/soak/soak.ts';
import type { Reading } from '../test/fixtures/faults/killed-threads.ts';
import { runNatsSoak } from '../test/nats/soak/soak.ts';
import { CompiledCli } from '../test/supervisor/processes/cli.ts';
import { drainRound, emptyReport } from '../test/supervisor/processes/drain.ts';
import { recoveryTimes } from '../test/supervisor/processes/recovery.ts';
import { replacementRounds } from '../test/supervisor/processes/replacements.ts';
import { fail, readArguments, readCount, readNumber } from './arguments.ts';

const usage = `npm run soak -- [options]

Calls over HTTP, among them hostile ones, large and broken uploads, streams, floods, reloads, steps of the clock.
FAULT_SEED=N repeats a run. Ctrl-C ends the load early and counts what was sent.

  --calls 200000     calls in all
  --hostile 1        per cent of them that are hostile
  --minutes 0        the calls are spread over so many minutes at least
  --reloads 12       each behind a bad edit that must be refused
  --bursts 50        bursts of large bodies
  --clock-steps 16   steps of the server's clock, which need libfaketime
  --no-clock         leaves the clock alone

Instead of all that:

  --nats             each fault of a cluster over NATS in its turn
  --drain            SIGTERMs and rolling replacements under load, and kills of a server's only process
  --rounds 200       with --drain: SIGTERMs; --minutes N begins none after so many minutes
  --threads          what killed threads leave behind in memory
  --kills N          with --drain (20) or --threads (600): how many`;

const values = readArguments(usage, {
  calls: { type: 'string', default: '200000' },
  hostile: { type: 'string', default: '1' },
  minutes: { type: 'string' },
  reloads: { type: 'string', default: '12' },
  bursts: { type: 'string', default: '50' },
  clock: { type: 'boolean', default: true },
  'clock-steps': { type: 'string', default: '16' },
  nats: { type: 'boolean', default: false },
  drain: { type: 'boolean', default: false },
  rounds: { type: 'string', default: '200' },
  threads: { type: 'boolean', default: false },
  kills: { type: 'string' },
});

/** @returns what must not have happened */
async function soakCalls(): Promise<readonly string[]> {
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
    minutes: readNumber('minutes', values.minutes ?? '0'),
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
  });
  console.log(`${tableOf(report)}\n\n${notesOf(report)}`);
  return report.violations;
}

const processes = 2;
const replacements = 20;

/**
 * Compares the calls that handlers accepted with the answers that callers got, and counts connections that were reset before the
 * server accepted them. Measures the time until a killed process is back.
 */
async function soakDrain(): Promise<readonly string[]> {
  const rounds = readCount('rounds', values.rounds);
  const kills = readCount('kills', values.kills ?? '20', 1);
  const until = performance.now() + readNumber('minutes', values.minutes ?? 'Infinity') * 60_000;
  const cli = new CompiledCli(await compiledTree());
  const args = ['--port', '0', '--processes', String(processes)];
  try {
    const report = emptyReport();
    let round = 0;
    for (; round < rounds && performance.now() < until; round++) {
      // The delay varies, so that the signal meets a cold and a warm server, and connections in any state.
      const before = 20 + ((round * 37) % 400);
      await drainRound((env) => cli.serve(args, env), before, report);
      if ((round + 1) % 20 === 0) console.error(`${round + 1} SIGTERMs`);
    }
    const { violations, ...counts } = report;
    console.log(`${round} SIGTERMs, ${processes} processes, ${availableParallelism()} cores\n`);
    console.log('| accepted | answered | after the signal | answered -32003 | never accepted |');
    console.log('|--:|--:|--:|--:|--:|');
    console.log(`| ${Object.values(counts).join(' | ')} |`);
    const { server, url } = await cli.serve(args);
    const found = await replacementRounds(server, url, processes, replacements);
    server.child.kill('SIGTERM');
    await server.exit;
    console.log(`\n${replacements} rolling replacements of ${processes} processes\n`);
    console.log('| calls | answered | reset | refused |');
    console.log('|--:|--:|--:|--:|');
    console.log(`| ${found.calls} | ${found.answered} | ${found.reset} | ${found.refused} |`);
    const times = (await recoveryTimes(cli, kills)).map(Math.round);
    const [median, longest] = [times[Math.floor(times.length / 2)], times.at(-1)];
    console.log(`\n${kills} kills: the next answer after ${median} / ${longest} ms (median / max)`);
    return [...violations, ...found.violations];
  } finally {
    cli.remove();
  }
}

/** KB for each kill, with a 95% interval, over the second half: in the first the process finds its size. */
function slopeOf(readings: readonly Reading[], of: (reading: Reading) => number): string {
  const settled = readings.slice(readings.length >> 1);
  const { slope, error } = trendOf(settled.map((one) => [one.kills, of(one) * 1024]));
  return `${slope.toFixed(1)} +- ${error.toFixed(1)}`;
}

/** In plain Node and in the service, with and without load, and with fewer arenas of malloc. */
async function soakThreads(): Promise<void> {
  const kills = String(readCount('kills', values.kills ?? '600', 1));
  const oneArena = { ...mallocSettings, MALLOC_ARENA_MAX: '1' };
  const runs = [
    ['node', '', mallocSettings],
    ['node', ', one arena of malloc', oneArena],
    ['service', '', mallocSettings],
    ['service under load', '', mallocSettings],
    ['service under load', ', one arena of malloc', oneArena],
  ] as const;
  const compiled = new Compiled(await compiledTree());
  try {
    console.log(`${kills} kills each\n`);
    console.log('| | RSS first, half, last, MB | RSS, KB a kill | heap, KB a kill |');
    console.log('|---|--:|--:|--:|');
    for (const [subject, how, env] of runs) {
      const child = compiled.start('test/fixtures/faults/killed-threads.ts', [subject, kills], env);
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      const [code] = await once(child, 'close');
      if (code !== 0) throw new Error(`${subject} ended with ${code}`);
      const readings = JSON.parse(text) as Reading[];
      const at = [0, readings.length >> 1, readings.length - 1];
      const rss = at.map((i) => Math.round(readings[i]?.rssMb ?? 0)).join(', ');
      const slopes = [
        slopeOf(readings, ({ rssMb }) => rssMb),
        slopeOf(readings, ({ heapMb }) => heapMb),
      ];
      console.log(`| ${subject}${how} | ${rss} | ${slopes.join(' | ')} |`);
    }
  } finally {
    compiled.remove();
  }
}

async function run(): Promise<readonly string[]> {
  if (values.nats) process.exit(await runNatsSoak());
  if (values.drain) return soakDrain();
  if (!values.threads) return soakCalls();
  await soakThreads();
  return [];
}

const violations = await run().catch((error: unknown) => fail(messageOf(error)));
for (const violation of violations.slice(0, 20)) console.error(violation);
if (violations.length > 0) {
  console.error(`${violations.length} violations`);
  process.exitCode = 1;
}
