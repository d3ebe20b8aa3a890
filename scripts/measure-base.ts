/** `npm run measure:base`: compares this checkout with the base of the current rebuilding. Linux only. */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { homedir, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import autocannon from 'autocannon';
import { program } from 'commander';
import { cpuMicroseconds } from '../bench/process/cpu-time.ts';
import { median, ratios } from '../bench/statistics.ts';
import { Running } from '../test/cli/process.ts';
import { run } from './run.ts';
import { root, wholeNumber } from './script.ts';

/** The commit of the base. */
const commit = 'de7cea74';

const { pairs, requests } = program
  .name('npm run measure:base --')
  .description(
    'Compares CPU time a request of this checkout with the base, inline and pooled, on both servers, in interleaved pairs.',
  )
  .option('--pairs <n>', 'pairs of fresh servers for each case', wholeNumber(2), 10)
  .option('--requests <n>', 'requests of each measurement', wholeNumber(1000), 40_000)
  .parse()
  .opts<{ pairs: number; requests: number }>();

/** A checkout of the base's commit, with its packages. It stays for the next time. */
async function baseCheckout(): Promise<string> {
  const folder = join(homedir(), '.cache/tandem-base', commit);
  if (!existsSync(join(folder, 'node_modules'))) {
    rmSync(folder, { recursive: true, force: true });
    await run('git', ['clone', '-q', root, folder]);
    await run('git', ['checkout', '-q', commit], { cwd: folder });
    await run('npm', ['ci'], { cwd: folder });
  }
  return folder;
}

type Transport = 'uws' | 'node';
type Place = 'inline' | 'pooled';

/** CPU microseconds of one request. */
interface CpuCost {
  readonly all: number;
  readonly mainThread: number;
}

/** Sends requests over 64 connections. @throws Error unless all are answered */
async function send(url: string, place: Place, amount: number): Promise<void> {
  const { non2xx, errors } = await autocannon({
    url,
    connections: 64,
    amount,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', method: place, params: { a: 1, b: 2 }, id: 1 }),
  });
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} of ${amount} requests failed`);
}

/**
 * The cost of requests to `tandem serve` with one worker, and everything else by default. A fresh process is optimised anew, so
 * each measurement has its own.
 */
async function costOf(checkout: string, transport: Transport, place: Place): Promise<CpuCost> {
  const module = join(checkout, '.build/measured-procedures.mjs');
  mkdirSync(join(checkout, '.build'), { recursive: true });
  cpSync(join(import.meta.dirname, 'measured-procedures.mjs'), module);
  const main = join(checkout, 'dist/src/cli/main.js');
  const args = [main, 'serve', module, '--port', '0', '--transport', transport, '--workers', '1'];
  const child = spawn(process.execPath, [...args, '--no-supervisor'], {
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const server = new Running(child);
  try {
    const [, url = ''] = await server.seen('stderr', /"event":"ready","url":"([^"]+)"/);
    while (!(await fetch(new URL('/readyz', url))).ok) await wait(100);
    await send(url, place, requests / 2);
    const files = [`/proc/${child.pid}/stat`, `/proc/${child.pid}/task/${child.pid}/stat`];
    const before = files.map((file) => cpuMicroseconds(file));
    await send(url, place, requests);
    const [all = 0, mainThread = 0] = files.map(
      (file, index) => (cpuMicroseconds(file) - (before[index] ?? 0)) / requests,
    );
    return { all, mainThread };
  } finally {
    child.kill('SIGTERM');
    await server.exit;
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

const cases: readonly (readonly [Transport, Place])[] = [
  ['uws', 'inline'],
  ['uws', 'pooled'],
  ['node', 'inline'],
  ['node', 'pooled'],
];

async function compareWith(base: string): Promise<void> {
  console.log(`${pairs} pairs of ${requests} requests against ${commit}, load ${loadavg()[0]}`);
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

const base = await baseCheckout();
for (const checkout of [base, root]) await run('npm', ['run', 'build'], { cwd: checkout });
await compareWith(base);
