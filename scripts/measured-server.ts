/** A server of a built checkout, and what its processes use. Linux only: the figures come from /proc. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import autocannon from 'autocannon';

export type Transport = 'uws' | 'node';
export type Place = 'inline' | 'pooled';

/** CPU microseconds of one request. */
export interface CpuCost {
  readonly all: number;
  readonly mainThread: number;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** CPU microseconds in a `stat` file of /proc, which counts in ticks of 10 ms. */
function cpuIn(file: string): number {
  const stat = readFileSync(file, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** KB of memory that a process has by itself, and its part of what it shares. */
function proportionalKb(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]);
}

/** One `tandem serve` with one worker, and everything else by default. */
export class MeasuredServer {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}/rpc`;
  }

  /** @throws Error if the server is not ready within 30 s */
  static async start(checkout: string, transport: Transport): Promise<MeasuredServer> {
    const module = join(checkout, '.build/measured-procedures.mjs');
    mkdirSync(join(checkout, '.build'), { recursive: true });
    cpSync(join(import.meta.dirname, 'measured-procedures.mjs'), module);
    const port = await freePort();
    const main = join(checkout, 'dist/src/cli/main.js');
    const args = [main, 'serve', module, '--port', String(port)];
    const child = spawn(process.execPath, [...args, '--transport', transport, '--workers', '1'], {
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: 'ignore',
    });
    const server = new MeasuredServer(child, port);
    for (let i = 0; i < 300; i++) {
      const response = await fetch(new URL('/readyz', server.url)).catch(() => undefined);
      await response?.arrayBuffer();
      if (response?.ok) return server;
      await wait(100);
    }
    await server.stop();
    throw new Error(`${checkout}: the server was not ready within 30 s`);
  }

  /** Pids of the supervisor and, after it, of the server process. */
  get pids(): number[] {
    const found = [Number(this.#child.pid)];
    for (const pid of found) {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
      found.push(...children.split(' ').filter(Boolean).map(Number));
    }
    return found;
  }

  /** Proportional set sizes in KB, in the order of `pids`. */
  get memoryKb(): number[] {
    return this.pids.map(proportionalKb);
  }

  /** Sends requests over 64 connections and counts CPU time of the server processes. */
  async cpuCost(place: Place, requests: number): Promise<CpuCost> {
    const [, ...pids] = this.pids;
    const read = (): [number, number] => [
      pids.reduce((sum, pid) => sum + cpuIn(`/proc/${pid}/stat`), 0),
      pids.reduce((sum, pid) => sum + cpuIn(`/proc/${pid}/task/${pid}/stat`), 0),
    ];
    const [all, main] = read();
    const {
      non2xx,
      errors,
      '2xx': answered,
    } = await autocannon({
      url: this.url,
      connections: 64,
      amount: requests,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', method: place, params: { a: 1, b: 2 }, id: 1 }),
    });
    if (non2xx + errors > 0) throw new Error(`${non2xx + errors} of ${requests} requests failed`);
    const [allAfter, mainAfter] = read();
    return { all: (allAfter - all) / answered, mainThread: (mainAfter - main) / answered };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}
