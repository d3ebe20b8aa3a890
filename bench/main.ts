/** `npm run bench`. Its options are in options.ts; docs/benchmark.md explains the figures. */
import { join } from 'node:path';
import { messageOf } from '../src/base/message-of.ts';
import { writeCharts } from './charts.ts';
import { describeMachine, loadNow } from './machine.ts';
import { assertKnown, helpOf, isWhole, type Options, parseOptions } from './options.ts';
import { longSection, shortSection, writePages } from './pages.ts';
import { Child } from './process/child.ts';
import { Progress } from './progress.ts';
import { type Results, type SuiteResult, writeResults } from './results.ts';
import { rootPath } from './root.ts';
import { planOf, runSuite, secondsOf } from './run.ts';
import { suites } from './suites/all.ts';
import { targetsTable } from './table.ts';
import type { Target } from './targets.ts';

async function run(options: Options, args: readonly string[]): Promise<Results> {
  const { only, against, full } = options;
  assertKnown(
    'suite',
    only,
    suites.map(({ name }) => name),
  );
  const chosen = suites
    .filter(({ name, onlyInFull }) =>
      only.length > 0 ? only.includes(name) : full || onlyInFull !== true,
    )
    .map((suite) => ({ suite, plan: planOf(suite, options) }));
  const rivals = suites.flatMap((suite) => suite.plan(options).subjects);
  assertKnown(
    'rival',
    against,
    rivals.filter(({ role }) => role === 'rival').map(({ id }) => id),
  );

  const loadBefore = loadNow();
  const began = performance.now();
  const progress = new Progress(chosen.reduce((sum, { plan }) => sum + secondsOf(plan), 0));
  const results: SuiteResult[] = [];
  const targets: Target[] = [];
  try {
    for (const { suite, plan } of chosen) {
      const series = await runSuite(suite, plan, options, {
        onStep: (what, seconds) => progress.step(what, seconds),
      });
      const { name, about } = suite;
      results.push({ name, about, subjects: plan.subjects, series: series.all });
      targets.push(...suite.report(series));
    }
  } finally {
    progress.stop();
  }
  return {
    date: new Date().toISOString(),
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    seconds: Math.round((performance.now() - began) / 1000),
    machine: describeMachine(loadBefore),
    suites: results,
    targets,
  };
}

async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(args);
  if (options === 'help') {
    console.log(helpOf(suites.map(({ name }) => name)));
    return;
  }
  const results = await run(options, args);
  const folder = options.results ?? rootPath('bench/results');
  const path = join(folder, isWhole(options) ? 'latest.json' : 'partial.json');
  writeResults(path, results);
  await writeCharts(results, isWhole(options) ? folder : join(folder, 'partial'));
  if (isWhole(options) && options.results === undefined) {
    writePages([
      [rootPath('README.md'), shortSection(results)],
      [rootPath('docs/benchmark.md'), longSection(results, '../bench/results')],
    ]);
  }
  console.log(targetsTable(results.targets));
  console.log(`\n${path}, in ${results.seconds} s`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
} finally {
  await Child.stopAll();
}
