/** Measures how the time and the memory of a request grow with its size. Times and memory (with `gc`) need a process each. */
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { Dispatcher, Router } from '../../src/index.ts';
import { expose } from '../process/expose.ts';
import { median } from '../statistics.ts';
import { firstId, operands } from './fixed.ts';
import { add, addParams } from './work.ts';

export type Dimension = 'batch' | 'params inline' | 'params pooled' | 'procedures';

export interface GrowthJob {
  readonly dimension: Dimension;
  readonly size: number;
  readonly seconds: number;
}

const source = import.meta.url;
const extension = source.endsWith('.ts') ? '.ts' : '.js';

/** Calls are spread over so many of the registered procedures. */
const called = 10;

const memoryTries = 5;

interface Request {
  readonly dispatcher: Dispatcher;
  readonly texts: readonly string[];
}

const requests = new Map<string, Promise<Request>>();
const dispatchers = new Map<string, Promise<Dispatcher>>();

function dispatcherOf(name: string): Promise<Dispatcher> {
  let dispatcher = dispatchers.get(name);
  if (dispatcher === undefined) {
    const inline = new URL(`./growth-procedures${extension}`, source).href;
    dispatcher = ready(
      new Dispatcher({
        modules: [inline],
        workers: 1,
        logLevel: 'error',
        // Much more than anybody should allow inline: this measures how the time grows.
        maxInlineParamsBytes: 8_000_000,
      }),
    );
    dispatchers.set(name, dispatcher);
  }
  return dispatcher;
}

async function ready(dispatcher: Dispatcher): Promise<Dispatcher> {
  await dispatcher.ready();
  return dispatcher;
}

function nameOf(n: number): string {
  return `group${n % 37}.procedure${n}`;
}

function routerOf(size: number): Router {
  const router = new Router();
  for (let n = 0; n < size; n++) {
    router.rpc({ name: nameOf(n), params: addParams, placement: 'inline' }, add);
  }
  return router;
}

function call(n: number, method: string, params: unknown): unknown {
  return { jsonrpc: '2.0', id: firstId + n, method, params };
}

/** Params of about `size` bytes of JSON. */
function paramsOf(size: number, n: number): { values: number[] } {
  const count = Math.max(1, Math.round((size - 11) / 5));
  return { values: Array.from({ length: count }, (_, i) => 1000 + ((i * 7 + n) % 9000)) };
}

async function prepare(dimension: Dimension, size: number): Promise<Request> {
  switch (dimension) {
    case 'batch': {
      const calls = Array.from({ length: size }, (_, n) => call(n, 'add', operands(n)));
      return { dispatcher: await dispatcherOf('modules'), texts: [JSON.stringify(calls)] };
    }
    case 'params inline':
    case 'params pooled': {
      const method = dimension === 'params inline' ? 'count' : 'pooledCount';
      const texts = [0, 1].map((n) => JSON.stringify(call(n, method, paramsOf(size, n))));
      return { dispatcher: await dispatcherOf('modules'), texts };
    }
    case 'procedures': {
      const router = routerOf(size);
      const dispatcher = await ready(new Dispatcher({ router, logLevel: 'error' }));
      const texts = Array.from({ length: called }, (_, n) => {
        return JSON.stringify(call(n, nameOf(Math.floor((n * size) / called)), operands(n)));
      });
      return { dispatcher, texts };
    }
  }
}

function requestOf({ dimension, size }: GrowthJob): Promise<Request> {
  const key = `${dimension} ${size}`;
  let request = requests.get(key);
  if (request === undefined) {
    request = prepare(dimension, size).then(verified);
    requests.set(key, request);
  }
  return request;
}

async function verified(request: Request): Promise<Request> {
  for (const text of request.texts) {
    const reply = await request.dispatcher.handle(text, new RequestScope());
    if (reply === undefined || String(reply).includes('"error"')) {
      throw new Error(`${text.slice(0, 100)} gave ${String(reply).slice(0, 200)}`);
    }
  }
  return request;
}

/** Microseconds of one request. */
async function time(job: GrowthJob): Promise<number> {
  const { dispatcher, texts } = await requestOf(job);
  const began = performance.now();
  const until = began + job.seconds * 1000;
  let count = 0;
  do {
    // Several calls between two readings of the clock, since a reading takes a part of the time of a call.
    for (let i = 0; i < called; i++) {
      const text = texts[count++ % texts.length] as string;
      const reply = dispatcher.handle(text, new RequestScope());
      if (reply instanceof Promise) await reply;
      if (performance.now() > until) break;
    }
  } while (performance.now() < until);
  return ((performance.now() - began) * 1000) / count;
}

/** Bytes that one request allocates on this thread; for the axis of procedures, bytes that all procedures keep. */
async function memory(job: GrowthJob): Promise<number> {
  if (job.dimension === 'procedures') return memoryOfRouter(job.size);
  const { dispatcher, texts } = await requestOf(job);
  const samples: number[] = [];
  for (let i = 0; i < memoryTries; i++) {
    const before = allocated();
    const reply = dispatcher.handle(texts[i % texts.length] as string, new RequestScope());
    if (reply instanceof Promise) await reply;
    samples.push(allocated(false) - before);
  }
  return median(samples);
}

function memoryOfRouter(size: number): number {
  const before = allocated();
  const router = routerOf(size);
  const bytes = allocated() - before;
  if (router.list().length !== size) throw new Error('procedures are missing');
  return bytes;
}

function allocated(collect = true): number {
  if (collect) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

expose(undefined, { time, memory });
