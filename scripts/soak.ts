/**
 * `npm run soak`: load and faults for long, every answer counted. Exits with 1 if an accepted call was lost, if an answer went to
 * another caller, if a call ran twice, or if memory, threads or descriptors grew.
 */
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { program } from 'commander';
import { compiledTree } from '../test/compiled.ts';
import { notesOf, tableOf } from '../test/faults/soak/report.ts';
import { soak } from '../test/faults/soak/soak.ts';
import { CompiledCli } from '../test/supervisor/processes/cli.ts';
import { drainRound, emptyReport } from '../test/supervisor/processes/drain.ts';
import { recoveryTimes } from '../test/supervisor/processes/recovery.ts';
import { replacementRounds } from '../test/supervisor/processes/replacements.ts';
import { fail, main, wholeNumber } from './script.ts';

const { calls, minutes, drain } = program
  .name('npm run soak --')
  .description(
    `Calls over HTTP, 1% of them hostile, among large and broken uploads, streams, reloads.
FAULT_SEED=N repeats a run. Ctrl-C ends the load early and counts what was sent.`,
  )
  .option('--calls <n>', 'calls in all', wholeNumber(1), 200_000)
  .option('--minutes <n>', 'the calls are spread over so many minutes at least', wholeNumber(), 0)
  .option(
    '--drain',
    'instead: SIGTERMs, rolling replacements, kills of a server process under load',
  )
  .parse()
  .opts<{ calls: number; minutes: number; drain?: true }>();

/** @returns what must not have happened */
async function soakCalls(): Promise<readonly string[]> {
  /** @returns how often something happens that comes so often in a usual run */
  const often = (usual: number): number => Math.ceil((usual * calls) / 200_000);
  /** Each run has another seed, unless FAULT_SEED gives one. */
  const seed = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
  if (!Number.isSafeInteger(seed)) fail(`FAULT_SEED is an integer, not ${process.env.FAULT_SEED}`);
  console.error(`FAULT_SEED=${seed}`);
  /** Ctrl-C ends the load early: what was sent is counted. A second one ends the soak. */
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  let shown = 0;
  const report = await soak({
    seed,
    calls,
    hostile: 1,
    minutes,
    reloads: often(12),
    bursts: often(50),
    // Long enough for a busy machine. A bad edit may hang for so long while calls are served.
    startTimeoutMs: 30_000,
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
const rounds = 200;
const replacements = 20;
const processKills = 20;

/**
 * Compares the calls that handlers accepted with the answers that callers got, and counts connections that were reset before the
 * server accepted them. Measures the time until a killed process is back.
 */
async function soakDrain(): Promise<readonly string[]> {
  const cli = new CompiledCli(await compiledTree());
  const args = ['--port', '0', '--processes', String(processes)];
  try {
    const report = emptyReport();
    for (let round = 0; round < rounds; round++) {
      // The delay varies, so that the signal meets a cold and a warm server, and connections in any state.
      const before = 20 + ((round * 37) % 400);
      await drainRound((env) => cli.serve(args, env), before, report);
      if ((round + 1) % 20 === 0) console.error(`${round + 1} SIGTERMs`);
    }
    const { violations, ...counts } = report;
    console.log(`${rounds} SIGTERMs, ${processes} processes, ${availableParallelism()} cores\n`);
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
    const times = (await recoveryTimes(cli, processKills)).map(Math.round);
    const [median, longest] = [times[Math.floor(times.length / 2)], times.at(-1)];
    console.log(
      `\n${processKills} kills: the next answer after ${median} / ${longest} ms (median / max)`,
    );
    return [...violations, ...found.violations];
  } finally {
    cli.remove();
  }
}

await main(async () => {
  const violations = await (drain === true ? soakDrain() : soakCalls());
  for (const violation of violations.slice(0, 20)) console.error(violation);
  if (violations.length > 0) fail(`${violations.length} violations`);
});
