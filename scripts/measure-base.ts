/**
 * `npm run measure:base`: compares this checkout with the base of the current rebuilding, or records the base. The base's commit
 * stands in scripts/base-line.json and nowhere else. Linux only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import autocannon from 'autocannon';
import { cpuMicroseconds } from '../bench/process/cpu-time.ts';
import { median, ratios } from '../bench/statistics.ts';
import { run } from './run.ts';
import { readArguments, readCount, root } from './script.ts';

const usage = `npm run measure:base -- [options]

Compares CPU time a request of this checkout with the base, inline and pooled, on both servers, in interleaved pairs.

  --pairs 10          pairs of fresh servers for each case
  --requests 40000    requests of each measurement
  --record 3          records the base instead, so many times, in scripts/base-line.json`;

const options = readArguments(usage, {
  pairs: { type: 'string', default: '10' },
  requests: { type: 'string', default: '40000' },
  record: { type: 'string' },
});
const pairs = readCount('pairs', options.pairs, 2);
const requests = readCount('requests', options.requests, 1000);

const recordFile = join(import.meta.dirname, 'base-line.json');

interface BaseLine {
  readonly commit: string;
  /** One entry for each recording. */
  readonly recorded: readonly object[];
}
const { commit, recorded } = JSON.parse(readFileSync(recordFile, 'utf8')) as BaseLine;

/** A checkout of the base's commit, with its packages. It stays for the next time. */
async function baseCheckout(): Promise<string> {
  const folder = join(homedir(), '.cache/tandem-base', commit);
  if (!existsSync(join(folder, 'node_modules'))) {
    mkdirSync(folder, { recursive: true });
    if (!existsSync(join(folder, '.git'))) {
      await run('git', ['clone', '-q', root, folder], { cwd: root });
    }
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

/** One `tandem serve` with one worker, and everything else by default. */
class MeasuredServer {
  readonly #url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  static async start(checkout: string, transport: Transport): Promise<MeasuredServer> {
    const module = join(checkout, '.build/measured-procedures.mjs');
    mkdirSync(join(checkout, '.build'), { recursive: true });
    cpSync(join(import.meta.dirname, 'measured-procedures.mjs'), module);
    const main = join(checkout, 'dist/src/cli/main.js');
    const args = [main, 'serve', module, '--port', '0', '--transport', transport, '--workers', '1'];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const url = await new Promise<string>((resolve, reject) => {
      let log = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        log += text;
        const found = /"event":"ready","url":"([^"]+)"/.exec(log)?.[1];
        if (found !== undefined) resolve(found);
      });
      child.once('exit', () => reject(new Error(`${checkout}: no server: ${log}`)));
    });
    const server = new MeasuredServer(child, url);
    for (;;) {
      const response = await fetch(new URL('/readyz', url));
      await response.arrayBuffer();
      if (response.ok) return server;
      await wait(100);
    }
  }

  /** Sends requests over 64 connections and counts CPU time of the server processes. */
  async cpuCost(place: Place, amount: number): Promise<CpuCost> {
    // The supervisor's own time does not count.
    const [, ...pids] = this.#pids;
    const read = (): [number, number] => [
      pids.reduce((sum, pid) => sum + cpuMicroseconds(`/proc/${pid}/stat`), 0),
      pids.reduce((sum, pid) => sum + cpuMicroseconds(`/proc/${pid}/task/${pid}/stat`), 0),
    ];
    const [all, main] = read();
    const {
      non2xx,
      errors,
      '2xx': answered,
    } = await autocannon({
      url: this.#url,
      connections: 64,
      amount,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', method: place, params: { a: 1, b: 2 }, id: 1 }),
    });
    if (non2xx + errors > 0) throw new Error(`${non2xx + errors} of ${amount} requests failed`);
    const [allAfter, mainAfter] = read();
    return { all: (allAfter - all) / answered, mainThread: (mainAfter - main) / answered };
  }

  /** KB of memory that the supervisor and the server process have each by itself, and their part of what they share. */
  get memoryKb(): number[] {
    return this.#pids.map((pid) => {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]);
    });
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }

  /** Of the supervisor and, after it, of the server process. */
  get #pids(): number[] {
    const found = [Number(this.#child.pid)];
    for (const pid of found) {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
      found.push(...children.split(' ').filter(Boolean).map(Number));
    }
    return found;
  }
}

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

const cases: readonly (readonly [Transport, Place])[] = [
  ['uws', 'inline'],
  ['uws', 'pooled'],
  ['node', 'inline'],
  ['node', 'pooled'],
];

async function compareWith(base: string): Promise<void> {
  const load = loadavg()[0]?.toFixed(2);
  console.log(`${pairs} pairs of ${requests} requests against ${commit}, load ${load}`);
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

/** Rows of the table that measure-size.ts prints, as numbers by name. */
async function sizesOf(checkout: string): Promise<Record<string, number>> {
  const script = join(import.meta.dirname, 'measure-size.ts');
  const args = ['--import', 'tsx', script, '--root', checkout];
  const { stdout: table } = await run(process.execPath, args, { cwd: checkout });
  const rows = table.matchAll(/^\| ([^|]+) \| ([\d,]+)%? \|$/gm);
  return Object.fromEntries(
    Array.from(rows, ([, name = '', value = '']) => [name, Number(value.replaceAll(',', ''))]),
  );
}

async function record(base: string, times: number): Promise<void> {
  const tablePath = pathToFileURL(join(base, 'src/core/config/table.ts')).href;
  const { table } = (await import(tablePath)) as { table: object };
  const sizes = await sizesOf(base);
  const entries = [...recorded];
  for (let time = 0; time < times; time++) {
    const cpu: Record<string, CpuCost> = {};
    for (const [transport, place] of cases) {
      cpu[`${transport} ${place}`] = await costOf(base, transport, place);
    }
    const server = await MeasuredServer.start(base, 'uws');
    // What was needed for the start alone is given back first.
    await wait(5000);
    const [supervisor, serverProcess] = server.memoryKb;
    await server.stop();
    const start = performance.now();
    await run('npm', ['test'], { cwd: base, timeoutMs: 3_600_000 });
    const npmTestSeconds = Math.round((performance.now() - start) / 100) / 10;
    entries.push({
      date: new Date().toISOString(),
      load: loadavg()[0],
      node: process.version,
      cpuMicroseconds: cpu,
      memoryKb: { supervisor, server: serverProcess },
      npmTestSeconds,
      options: Object.keys(table).length,
      sizes,
    });
    // A line for each recording.
    const lines = entries.map((entry) => JSON.stringify(entry)).join(',\n');
    writeFileSync(recordFile, `{"commit":"${commit}","recorded":[\n${lines}\n]}\n`);
    console.log(JSON.stringify(entries.at(-1)));
  }
}

const base = await baseCheckout();
const checkouts = options.record === undefined ? [base, root] : [base];
for (const checkout of checkouts) await run('npm', ['run', 'build'], { cwd: checkout });
if (options.record === undefined) await compareWith(base);
else await record(base, readCount('record', options.record, 1));
