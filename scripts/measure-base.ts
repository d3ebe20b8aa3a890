/**
 * `npm run measure:base`: compares this checkout with the base of the current rebuilding, or records the base. The base's commit
 * stands in scripts/base-line.json and nowhere else. Linux only.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { median, ratios } from '../bench/statistics.ts';
import { readArguments, readCount } from './arguments.ts';
import { type CpuCost, MeasuredServer, type Place, type Transport } from './measured-server.ts';
import { npm, run } from './release/run.ts';

const usage = `npm run measure:base -- [options]

Compares CPU time a request of this checkout with the base, inline and pooled, on both servers, in interleaved pairs.

  --pairs 10          pairs of fresh servers for each case
  --requests 40000    requests of each measurement
  --record 3          records the base instead, so many times, in scripts/base-line.json
  --ci                with --record: the seconds of .ci/run too`;

const options = readArguments(usage, {
  pairs: { type: 'string', default: '10' },
  requests: { type: 'string', default: '40000' },
  record: { type: 'string' },
  ci: { type: 'boolean', default: false },
});
const pairs = readCount('pairs', options.pairs, 2);
const requests = readCount('requests', options.requests, 1000);

const root = join(import.meta.dirname, '..');
const recordFile = join(import.meta.dirname, 'base-line.json');

interface BaseLine {
  readonly commit: string;
  /** One entry for each recording. */
  readonly recorded: readonly object[];
}
const baseLine = JSON.parse(readFileSync(recordFile, 'utf8')) as BaseLine;

/** A checkout of the base's commit, with its packages. It stays for the next time. */
function baseCheckout(): string {
  const folder = join(homedir(), '.cache/tandem-base', baseLine.commit);
  if (!existsSync(join(folder, 'node_modules'))) {
    mkdirSync(folder, { recursive: true });
    if (!existsSync(join(folder, '.git'))) run('git', ['clone', '-q', root, folder], { cwd: root });
    run('git', ['checkout', '-q', baseLine.commit], { cwd: folder });
    npm(['ci'], { cwd: folder });
  }
  return folder;
}

const cases: readonly (readonly [Transport, Place])[] = [
  ['uws', 'inline'],
  ['uws', 'pooled'],
  ['node', 'inline'],
  ['node', 'pooled'],
];

/** A fresh process is optimised anew, so each measurement has its own. */
async function costOf(checkout: string, transport: Transport, place: Place): Promise<CpuCost> {
  const server = await MeasuredServer.start(checkout, transport);
  try {
    await server.cpuCost(place, requests / 2);
    return await server.cpuCost(place, requests);
  } finally {
    await server.stop();
  }
}

/** Student's t for a one-sided bound of 95%, by degrees of freedom from 1; from 30 on the normal distribution's. */
const student = [
  6.314, 2.92, 2.353, 2.132, 2.015, 1.943, 1.895, 1.86, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761,
  1.753, 1.746, 1.74, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701,
  1.699,
];

/** The geometric mean of ratios, and the bound that it lies below with 95% certainty. */
function meanAndUpperBound(values: readonly number[]): { mean: number; upper: number } {
  const logs = values.map(Math.log);
  const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  const squares = logs.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const error = Math.sqrt(squares / (logs.length - 1) / logs.length);
  const t = student[logs.length - 2] ?? 1.645;
  return { mean: Math.exp(mean), upper: Math.exp(mean + t * error) };
}

async function compareWithBase(): Promise<void> {
  const base = baseCheckout();
  for (const checkout of [base, root]) npm(['run', 'build'], { cwd: checkout });
  console.log(
    `${pairs} pairs of ${requests} requests against ${baseLine.commit}, load ${loadavg()[0]?.toFixed(2)}`,
  );
  console.log(
    '| server | place | base, us | now, us | now / base | upper 95% bound | main thread |',
  );
  console.log('|---|---|--:|--:|--:|--:|--:|');
  for (const [transport, place] of cases) {
    const before: CpuCost[] = [];
    const after: CpuCost[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      const both = [
        async () => before.push(await costOf(base, transport, place)),
        async () => after.push(await costOf(root, transport, place)),
      ];
      // The first of a pair changes, so that what warms the machine favours neither.
      for (const measure of pair % 2 === 0 ? both : both.reverse()) await measure();
    }
    const all = (costs: readonly CpuCost[]): number[] => costs.map((cost) => cost.all);
    const main = (costs: readonly CpuCost[]): number[] => costs.map((cost) => cost.mainThread);
    const { mean, upper } = meanAndUpperBound(ratios(all(after), all(before)));
    const ofMain = meanAndUpperBound(ratios(main(after), main(before)));
    const cells = [median(all(before)).toFixed(1), median(all(after)).toFixed(1)];
    cells.push(mean.toFixed(3), upper.toFixed(3), ofMain.mean.toFixed(3));
    console.log(`| ${transport} | ${place} | ${cells.join(' | ')} |`);
  }
}

function secondsOf(command: string, args: readonly string[], cwd: string): number {
  const start = performance.now();
  const { status } = spawnSync(command, args, { cwd, stdio: 'ignore' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: exit code ${status}`);
  return Math.round((performance.now() - start) / 100) / 10;
}

/** Rows of the table that measure-size.ts prints, as numbers by name. */
function sizesOf(checkout: string): Record<string, number> {
  const table = execFileSync(
    process.execPath,
    ['--import', 'tsx', join(import.meta.dirname, 'measure-size.ts'), '--root', checkout],
    { cwd: checkout, encoding: 'utf8' },
  );
  const rows = table.matchAll(/^\| ([^|]+) \| ([\d,]+)%? \|$/gm);
  return Object.fromEntries(
    Array.from(rows, ([, name = '', value = '']) => [name, Number(value.replaceAll(',', ''))]),
  );
}

async function recordBase(times: number): Promise<void> {
  const base = baseCheckout();
  npm(['run', 'build'], { cwd: base });
  const tablePath = pathToFileURL(join(base, 'src/core/config/table.ts')).href;
  const { table } = (await import(tablePath)) as { table: object };
  const sizes = sizesOf(base);
  for (let time = 0; time < times; time++) {
    const cpuMicroseconds: Record<string, CpuCost> = {};
    for (const [transport, place] of cases) {
      cpuMicroseconds[`${transport} ${place}`] = await costOf(base, transport, place);
    }
    const server = await MeasuredServer.start(base, 'uws');
    // What was needed for the start alone is given back first.
    await wait(5000);
    const [supervisorKb, serverKb] = server.memoryKb;
    await server.stop();
    const entry = {
      date: new Date().toISOString(),
      load: loadavg()[0],
      node: process.version,
      cpuMicroseconds,
      memoryKb: { supervisor: supervisorKb, server: serverKb },
      npmTestSeconds: secondsOf('npm', ['test'], base),
      ...(options.ci ? { ciSeconds: secondsOf('bash', ['.ci/run'], base) } : {}),
      options: Object.keys(table).length,
      sizes,
    };
    const { commit, recorded } = JSON.parse(readFileSync(recordFile, 'utf8')) as BaseLine;
    const text = JSON.stringify({ commit, recorded: [...recorded, entry] }, undefined, 2);
    writeFileSync(recordFile, `${text}\n`);
    console.log(JSON.stringify(entry));
  }
}

if (options.record === undefined) await compareWithBase();
else await recordBase(readCount('record', options.record, 1));
