/**
 * SIGTERMs under load, each to a server of its own; then rolling replacements (SIGUSR2) of one server under load; then kills of
 * the only process of a server. Compares the calls that handlers accepted with the answers that callers got. Counts connections
 * that were reset before the server accepted them. Measures the time until a killed process is back. Exits with 1 if an accepted
 * call was lost.
 */
import { availableParallelism } from 'node:os';
import { compiledTree } from '../test/compiled.ts';
import { CompiledCli } from '../test/supervisor/processes/cli.ts';
import { drainRound, emptyReport } from '../test/supervisor/processes/drain.ts';
import { recoveryTimes } from '../test/supervisor/processes/recovery.ts';
import { replacementRounds } from '../test/supervisor/processes/replacements.ts';
import { readArguments, readCount, readNumber } from './arguments.ts';

const usage = `npm run soak:drain -- [options]

  --rounds 200        SIGTERMs
  --minutes N         no further SIGTERM is begun after so many minutes
  --replacements 20   rolling replacements
  --kills 20          kills of a server's only process
  --processes 2       processes of each server`;

const values = readArguments(usage, {
  rounds: { type: 'string', default: '200' },
  replacements: { type: 'string', default: '20' },
  kills: { type: 'string', default: '20' },
  processes: { type: 'string', default: '2' },
  minutes: { type: 'string', default: 'Infinity' },
});
const processes = String(readCount('processes', values.processes, 1));
const rounds = readCount('rounds', values.rounds);
const replacements = readCount('replacements', values.replacements);
const kills = readCount('kills', values.kills);
const cli = new CompiledCli(await compiledTree());
const args = ['--port', '0', '--processes', processes];

try {
  const report = emptyReport();
  const until = performance.now() + readNumber('minutes', values.minutes) * 60_000;
  let round = 0;
  for (; round < rounds && performance.now() < until; round++) {
    // The delay varies, so that the signal meets a cold and a warm server, and connections in any state.
    const before = 20 + ((round * 37) % 400);
    await drainRound((env) => cli.serve(args, env), before, report);
    if ((round + 1) % 20 === 0) console.error(`${round + 1} SIGTERMs`);
  }
  const { violations, ...counts } = report;
  if (rounds > 0) {
    console.log(`${round} SIGTERMs, ${processes} processes, ${availableParallelism()} cores\n`);
    console.log('| accepted | answered | after the signal | answered -32003 | never accepted |');
    console.log('|--:|--:|--:|--:|--:|');
    console.log(`| ${Object.values(counts).join(' | ')} |`);
  }
  if (replacements > 0) {
    const { server, url } = await cli.serve(args);
    const found = await replacementRounds(server, url, Number(processes), replacements);
    server.child.kill('SIGTERM');
    await server.exit;
    violations.push(...found.violations);
    console.log(`\n${replacements} rolling replacements of ${processes} processes\n`);
    console.log('| calls | answered | reset | refused |');
    console.log('|--:|--:|--:|--:|');
    console.log(`| ${found.calls} | ${found.answered} | ${found.reset} | ${found.refused} |`);
  }
  if (kills > 0) {
    const times = (await recoveryTimes(cli, kills)).map(Math.round);
    const [median, longest] = [times[Math.floor(times.length / 2)], times.at(-1)];
    console.log(`\n${kills} kills: the next answer after ${median} / ${longest} ms (median / max)`);
  }
  for (const violation of violations.slice(0, 20)) console.error(violation);
  if (violations.length > 0) process.exitCode = 1;
} finally {
  cli.remove();
}
