/** `npm run bench`. Its options are in options.ts; docs/benchmark.md explains the figures. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../src/core/base/message-of.ts';
import { writeCharts } from './charts.ts';
import { printComparison } from './compare.ts';
import { describeMachine, loadNow } from './machine.ts';
import { mediaOf, publishMedia, readMedia, writeMedia } from './media.ts';
import { assertKnown, helpOf, isUsual, type Options, parseOptions } from './options.ts';
import { publishFigures } from './page.ts';
import { Child } from './process/child.ts';
import { duration, Progress } from './progress.ts';
import { type Results, readResults, writeResults } from './results.ts';
import { rootPath } from './root.ts';
import { planOf, secondsOf } from './run.ts';
import { type Outcome, runSuites } from './run-suites.ts';
import { suites } from './suites/all.ts';
import { report } from './table.ts';

async function run(options: Options, args: readonly string[]): Promise<Results> {
  const { only, against } = options;
  assertKnown(
    'suite',
    only,
    suites.map(({ name }) => name),
  );
  const chosen = suites
    .filter(({ name, onlyNamed }) => (only.length > 0 ? only.includes(name) : onlyNamed !== true))
    .map((suite) => ({ suite, plan: planOf(suite, options) }));
  const rivals = suites.flatMap((suite) => suite.plan(options).subjects);
  assertKnown(
    'rival',
    against,
    rivals.filter(({ role }) => role === 'rival').map(({ id }) => id),
  );

  const machine = describeMachine();
  const began = performance.now();
  const planned = chosen.reduce((sum, { plan }) => sum + secondsOf(plan), 0);
  console.error(`${chosen.length} suites, about ${duration(planned)}`);
  const progress = new Progress(planned);
  const toResults = (outcome: Outcome): Results => ({
    date: new Date().toISOString(),
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    seconds: Math.round((performance.now() - began) / 1000),
    machine: { ...machine, load: [...machine.load, loadNow()] },
    ...outcome,
  });
  const outcome = await runSuites(chosen, options, {
    onStep: (what, seconds) => progress.step(what, seconds),
    onSuite: (soFar) => writeResults(partialPath(options), toResults(soFar)),
    onFailure: (message) => console.error(message),
  });
  return toResults(outcome);
}

function folderOf({ results }: Options): string {
  return results ?? rootPath('bench/results');
}

/** Where a run writes what it has measured so far, and what stands for nothing but itself. */
function partialPath(options: Options): string {
  return join(folderOf(options), 'partial.json');
}

async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(args);
  if (options === 'help') {
    console.log(helpOf(suites.map(({ name }) => name)));
    return;
  }
  if (options.compare !== undefined) {
    if (printComparison(...options.compare)) process.exitCode = 1;
    return;
  }
  if (options.draw) {
    publishFigures(readResults(join(folderOf(options), 'latest.json')));
    return publishMedia(readMedia());
  }
  const results = await run(options, args);
  const { failures, seconds } = results;
  const isWhole = options.only.length === 0 && failures.length === 0 && isUsual(options);
  const folder = folderOf(options);
  const path = isWhole ? join(folder, 'latest.json') : partialPath(options);
  writeResults(path, results);
  await writeCharts(results, isWhole ? folder : join(folder, 'partial'));
  if (isWhole) {
    rmSync(partialPath(options), { force: true });
    publishFigures(results);
  }
  const media = mediaOf(results);
  if (media !== undefined && isUsual(options)) {
    writeMedia(media);
    await publishMedia(media);
  }
  console.log(report(results));
  console.log(`\n${path}, in ${seconds} s`);
  if (failures.length > 0) throw new Error(failures.join('\n'));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
} finally {
  await Child.stopAll();
}
