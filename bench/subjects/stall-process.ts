/** Measures how long one body holds up the event loop: the longest turn between its arrival and its reply. */
import { existsSync, readFileSync } from 'node:fs';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { promised } from '../../src/core/protocol/reply.ts';
import { Dispatcher } from '../../src/index.ts';
import { expose } from '../process/expose.ts';
import { largestInline, type StallBody, stallBodies } from './stall-bodies.ts';

export interface StallJob {
  readonly size: number;
  readonly stage: string;
}

const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const options = {
  modules: [new URL(`./stall-procedures${extension}`, import.meta.url).href],
  workers: 1,
  spareWorkers: 0,
  logLevel: 'silent',
} as const;

const open = new Dispatcher(options);
const full = new Dispatcher({ ...options, maxInFlight: 1 });
await Promise.all([open.ready(), full.ready()]);
const never = new AbortController();
void full.dispatch({ id: 1, method: 'wait' }, { signal: never.signal });

const largeBytes = 1_000_000;

const schedule = `/proc/self/task/${process.pid}/schedstat`;
const hasSchedule = existsSync(schedule);

/** Milliseconds that this thread has run, where the system tells: then other threads on its core do not count. */
function now(): number {
  if (!hasSchedule) return performance.now();
  return Number(readFileSync(schedule, 'latin1').split(' ', 1)[0]) / 1e6;
}

/** Milliseconds of the shortest stall of a few tries: longer ones include the work of other processes. */
async function stall({ size, stage }: StallJob): Promise<number> {
  const found = stallBodies(size).find((one) => one.stage === stage);
  if (found === undefined) throw new Error(`no stage ${stage}`);
  return shortest(found);
}

async function parse(): Promise<number> {
  const body = largestInline(open.config.maxInlineParamsBytes);
  return shortest({ stage: 'params', body });
}

async function shortest(found: StallBody): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  // A small body is sent so often that its code gets compiled, as an attacker would do.
  const tries = found.body.length > largeBytes ? 3 : 20;
  for (let n = 0; n < tries; n++) least = Math.min(least, await stallOf(found));
  return least;
}

async function stallOf({ body, asText, refused }: StallBody): Promise<number> {
  const dispatcher = refused === true ? full : open;
  const given = asText === true ? body : sharedOf(body);
  let longest = 0;
  let last = now();
  let isAnswered = false;
  const look = (): void => {
    const time = now();
    longest = Math.max(longest, time - last);
    last = time;
    if (!isAnswered) setImmediate(look);
  };
  setImmediate(look);
  last = now();
  const reply = promised((sink) => dispatcher.handle(given, new RequestScope(), sink));
  look();
  await reply;
  isAnswered = true;
  look();
  return longest;
}

/** The body in shared memory, as a transport gathers it. */
function sharedOf(body: string): Uint8Array {
  const bytes = Buffer.from(body);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  shared.set(bytes);
  return shared;
}

expose(undefined, { stall, parse });
