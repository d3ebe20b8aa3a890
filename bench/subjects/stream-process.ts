import { setTimeout as delay } from 'node:timers/promises';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import {
  type StreamFlow,
  type StreamHost,
  type StreamSink,
  streamWindow,
  type WindowLimits,
} from '../../src/core/dispatch/streams/contract.ts';
import { ValueWindow } from '../../src/core/dispatch/streams/readers.ts';
import { promised } from '../../src/core/protocol/reply.ts';
import { Dispatcher } from '../../src/index.ts';
import { expose } from '../process/expose.ts';
import { median } from '../statistics.ts';

const source = import.meta.url;
const extension = source.endsWith('.ts') ? '.ts' : '.js';
const dispatcher = new Dispatcher({
  modules: [new URL(`stream-procedures${extension}`, source).href],
  workers: 1,
  spareWorkers: 0,
  logLevel: 'error',
});
await dispatcher.ready();

/** Reads a stream as a transport does: texts, and a new window for each half that was read. */
class Reader implements StreamHost, StreamSink {
  values = 0;
  #flow: StreamFlow | undefined;
  #window: ValueWindow | undefined;
  readonly #onOpened: () => void;
  readonly #limits: WindowLimits;

  /** @param limits of its window */
  constructor(onOpened: () => void, limits: WindowLimits) {
    this.#onOpened = onOpened;
    this.#limits = limits;
  }

  accept(): StreamSink {
    return this;
  }

  opened(flow: StreamFlow): undefined {
    this.#flow = flow;
    this.#window = new ValueWindow(flow, this.#limits);
    this.#window.open();
    this.#onOpened();
  }

  value(text: string): void {
    this.values++;
    this.#window?.add(text.length);
    this.#window?.taken();
  }

  end(): never {
    throw new Error('a stream of the benchmark has ended');
  }

  cancel(): void {
    this.#flow?.cancel();
  }
}

/** Runs work beside so many streams of a procedure. */
async function beside<R>(
  method: string,
  count: number,
  work: (readers: readonly Reader[]) => Promise<R>,
  limits: WindowLimits = streamWindow,
): Promise<R> {
  const readers: Reader[] = [];
  for (let id = 0; id < count; id++) {
    await new Promise<void>((resolve) => {
      const reader = new Reader(resolve, limits);
      readers.push(reader);
      const scope = new RequestScope();
      scope.streams = reader;
      dispatcher.handle(JSON.stringify({ jsonrpc: '2.0', id, method }), scope, {
        onReply: () => {},
      });
    });
  }
  try {
    return await work(readers);
  } finally {
    for (const reader of readers) reader.cancel();
  }
}

function light(): Promise<unknown> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"light"}';
  return promised((sink) => dispatcher.handle(body, new RequestScope(), sink));
}

/** Microseconds of CPU, of all threads. */
function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

export interface StreamJob {
  /** Streams that are open meanwhile, or the values of a window. */
  readonly count: number;
  readonly seconds: number;
}

/** CPU of a value, microseconds. */
function values({ count, seconds }: StreamJob): Promise<number> {
  return beside('numbers', count, async (readers) => {
    const read = (): number => readers.reduce((sum, reader) => sum + reader.values, 0);
    const [before, cpu] = [read(), process.cpuUsage()];
    await delay(seconds * 1000);
    return cpuSince(cpu) / (read() - before);
  });
}

/** Values per second of one stream whose window has `count` values. */
function windowed({ count, seconds }: StreamJob): Promise<number> {
  const work = async ([reader]: readonly Reader[]): Promise<number> => {
    const [began, before] = [performance.now(), reader?.values ?? 0];
    await delay(seconds * 1000);
    return (((reader?.values ?? 0) - before) / (performance.now() - began)) * 1000;
  };
  return beside('numbers', 1, work, { ...streamWindow, values: count });
}

/** CPU of a light call, so many at the same time, microseconds. */
async function calls({ count, seconds }: StreamJob): Promise<number> {
  let made = 0;
  const cpu = process.cpuUsage();
  const until = performance.now() + seconds * 1000;
  const lane = async (): Promise<void> => {
    for (; performance.now() < until; made++) await light();
  };
  await Promise.all(Array.from({ length: count }, lane));
  return cpuSince(cpu) / made;
}

/** CPU of the process while streams idle, per cent of one core. */
function idle({ count, seconds }: StreamJob): Promise<number> {
  return beside('idle', count, async () => {
    // What their opening leaves to be done.
    await delay(200);
    const cpu = process.cpuUsage();
    await delay(seconds * 1000);
    return cpuSince(cpu) / (seconds * 1e4);
  });
}

/** The median time of a light call beside busy generators of the same worker, milliseconds. */
function p50({ count, seconds }: StreamJob): Promise<number> {
  return beside('busy', count, async (readers) => {
    const times: number[] = [];
    const until = performance.now() + seconds * 1000;
    while (performance.now() < until) {
      const began = performance.now();
      await light();
      times.push(performance.now() - began);
      // A reply comes between two slices: without a gap that differs each time the next call would, too.
      const pause = performance.now() + 1 + ((times.length * 0.37) % 1);
      await delay(1);
      while (performance.now() < pause);
    }
    if (readers.some((reader) => reader.values === 0)) throw new Error('a generator was not busy');
    return median(times);
  });
}

expose(undefined, { values, windowed, calls, idle, p50 });
