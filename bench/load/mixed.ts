import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createHistogram } from 'node:perf_hooks';
import { median } from '../statistics.ts';
import { Connection } from './connection.ts';
import type { Goal } from './request.ts';
import type { HttpResponse } from './response.ts';

/** Calls at a fixed rate, whether or not earlier calls were answered. */
export interface PacedLoad {
  readonly goal: Goal;
  /** The caller's address. Default: 127.0.0.1 */
  readonly from?: string;
  readonly perSecond: number;
}

/** Connections, each of which sends its next call when the last one was answered. */
export interface ClosedLoad {
  readonly goal: Goal;
  /** The caller's address. Default: 127.0.0.1 */
  readonly from?: string;
  readonly connections: number;
  /** Share of the time, 0 to 1, at which each connection sends its first call. Default: all at once */
  readonly arrivals?: readonly number[];
}

/** Streams over server-sent events, which are read until the time is over; one that ends is opened again. */
export interface StreamLoad {
  readonly port: number;
  readonly path: string;
  readonly body: string;
  /** The caller's address. Default: 127.0.0.1 */
  readonly from?: string;
  readonly count: number;
}

export interface MixedJob {
  readonly seconds: number;
  /** How many stretches of equal length the time is cut into, for the latency of paced calls over time. Default: 1 */
  readonly windows?: number;
  readonly paced?: PacedLoad;
  readonly closed?: ClosedLoad;
  readonly streams?: StreamLoad;
  /** Error codes that also count as right answers. */
  readonly refusals?: readonly number[];
}

export interface Tally {
  readonly results: number;
  /** Measured between the first and the last result in time: over the whole of a short time, whole calls would round it. */
  readonly perSecond: number;
  /** Latency of results, milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly refusals: number;
  /** Latency of refusals, milliseconds; 0 where there were none. */
  readonly refusalP99: number;
  /** The median latency of the calls sent in each window, milliseconds. */
  readonly windows: readonly number[];
}

export interface MixedResult {
  readonly paced: Tally | undefined;
  readonly closed: Tally | undefined;
  /** Of all streams together. */
  readonly valuesPerSecond: number | undefined;
}

/** Most calls that may wait at once: a server with more waiting answers nothing. */
const maxWaiting = 4000;

class Counter {
  readonly #latencies = createHistogram({ figures: 3 });
  readonly #refusalLatencies = createHistogram({ figures: 3 });
  readonly #refusals: readonly number[];
  readonly #until: number;
  readonly #windowMs: number;
  readonly #windows: number[][];
  #results = 0;
  #refused = 0;
  #inTime = 0;
  #first = 0;
  #last = 0;

  constructor({ refusals = [], seconds, windows = 1 }: MixedJob, until: number) {
    this.#until = until;
    this.#refusals = refusals;
    this.#windowMs = (seconds * 1000) / windows;
    this.#windows = Array.from({ length: windows }, () => []);
  }

  count(goal: Goal, index: number, sentAt: number, { status, body }: HttpResponse): void {
    const now = performance.now();
    const nanoseconds = Math.max(1, Math.round((now - sentAt) * 1e6));
    const { reply } = goal.exchanges[index] as Goal['exchanges'][number];
    if (status === 200 && body === reply) {
      this.#results++;
      if (now <= this.#until) {
        if (this.#inTime++ === 0) this.#first = now;
        this.#last = now;
      }
      this.#latencies.record(nanoseconds);
      const leftMs = Math.max(0, this.#until - sentAt);
      this.#windows.at(-1 - Math.floor(leftMs / this.#windowMs))?.push(nanoseconds / 1e6);
    } else if (this.#isRefusal(status, body)) {
      this.#refused++;
      this.#refusalLatencies.record(nanoseconds);
    } else {
      throw new Error(`a wrong answer: ${status} ${body.slice(0, 200)} and not ${reply}`);
    }
  }

  get tally(): Tally {
    return {
      results: this.#results,
      perSecond: (this.#inTime - 1) / ((this.#last - this.#first) / 1000),
      p50: this.#latencies.percentile(50) / 1e6,
      p99: this.#latencies.percentile(99) / 1e6,
      refusals: this.#refused,
      refusalP99: this.#refused === 0 ? 0 : this.#refusalLatencies.percentile(99) / 1e6,
      windows: this.#windows.map(median),
    };
  }

  #isRefusal(status: number, body: string): boolean {
    return status === 200 && this.#refusals.some((code) => body.includes(`"code":${code},`));
  }
}

async function runClosed(
  { goal, from, connections, arrivals }: ClosedLoad,
  seconds: number,
  until: number,
  counter: Counter,
): Promise<void> {
  const lanes = Array.from({ length: connections }, async (_, lane) => {
    const connection = await Connection.open(goal.port, from);
    const arrival = until - (1 - (arrivals?.[lane] ?? 0)) * seconds * 1000;
    await new Promise((resolve) => setTimeout(resolve, arrival - performance.now()));
    for (let n = lane; performance.now() < until; n++) {
      const index = n % goal.exchanges.length;
      const sentAt = performance.now();
      const body = goal.exchanges[index]?.body ?? '';
      counter.count(goal, index, sentAt, await connection.send(goal, body));
    }
    connection.close();
  });
  await Promise.all(lanes);
}

/** @returns values a second, of all streams together */
async function runStreams(load: StreamLoad, seconds: number, until: number): Promise<number> {
  const { port, path, body, from = '127.0.0.1', count } = load;
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const open = new Set<ClientRequest>();
  let values = 0;
  let isOver = false;
  const read = async (): Promise<void> => {
    const sent = request({ port, path, method: 'POST', agent: false, localAddress: from, headers });
    sent.once('close', () => open.delete(sent));
    open.add(sent);
    try {
      sent.end(body);
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      for await (const chunk of response) {
        values += String(chunk).split('"subscription":').length - 1;
      }
    } catch (error) {
      if (!isOver) throw error;
    }
  };
  const readers = Array.from({ length: count }, async () => {
    while (!isOver) await read();
  });
  const end = setTimeout(() => {
    isOver = true;
    for (const sent of open) sent.destroy();
  }, until - performance.now());
  await Promise.all(readers).finally(() => clearTimeout(end));
  return values / seconds;
}

/** The connection that was used last. Where it is stale, all others are too. */
function takeFresh(idle: Connection[]): Connection | undefined {
  const last = idle.pop();
  if (last === undefined || last.isFresh) return last;
  last.close();
  for (const other of idle.splice(0)) other.close();
  return undefined;
}

async function runPaced(
  { goal, from, perSecond }: PacedLoad,
  until: number,
  counter: Counter,
): Promise<void> {
  const idle: Connection[] = [];
  let waiting = 0;
  let failure: unknown;
  let onAnswer = (): void => {};
  const send = async (n: number): Promise<void> => {
    const connection = takeFresh(idle) ?? (await Connection.open(goal.port, from));
    const index = n % goal.exchanges.length;
    // The clock starts when the request is sent: the time to connect is not the server's.
    const sentAt = performance.now();
    const response = await connection.send(goal, goal.exchanges[index]?.body ?? '');
    counter.count(goal, index, sentAt, response);
    idle.push(connection);
  };
  const settle = (error?: unknown): void => {
    waiting--;
    failure ??= error;
    onAnswer();
  };
  const began = performance.now();
  for (let sent = 0; performance.now() < until && failure === undefined; ) {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond);
    for (; sent < due; sent++) {
      if (++waiting > maxWaiting) throw new Error(`${maxWaiting} calls wait for an answer`);
      send(sent).then(() => settle(), settle);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (waiting > 0 && failure === undefined) {
    await new Promise<void>((resolve) => {
      onAnswer = resolve;
    });
  }
  for (const connection of idle) connection.close();
  if (failure !== undefined) throw failure;
}

/** Runs all kinds of load at once and checks each answer. @throws Error at the first wrong answer */
export async function runMixed(job: MixedJob): Promise<MixedResult> {
  const until = performance.now() + job.seconds * 1000;
  const paced = new Counter(job, until);
  const closed = new Counter(job, until);
  const [valuesPerSecond] = await Promise.all([
    job.streams === undefined ? undefined : runStreams(job.streams, job.seconds, until),
    job.paced === undefined ? undefined : runPaced(job.paced, until, paced),
    job.closed === undefined ? undefined : runClosed(job.closed, job.seconds, until, closed),
  ]);
  return {
    paced: job.paced === undefined ? undefined : paced.tally,
    closed: job.closed === undefined ? undefined : closed.tally,
    valuesPerSecond,
  };
}
