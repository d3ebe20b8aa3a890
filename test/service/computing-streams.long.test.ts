import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setEnvironmentData } from 'node:worker_threads';
import fc from 'fast-check';
import { ErrorCode } from '../../src/core/protocol/errors.ts';
import type { Dispatcher } from '../../src/index.ts';
import {
  cellOf,
  cellsName,
  createCells,
  mostThreads,
  Own,
  Shared,
} from '../fixtures/service/slices.ts';
import { inReverse, TestService } from '../harness.ts';
import { cases, seed } from '../seed.ts';
import { turns, until } from '../turns.ts';
import { fixture } from './running.ts';

/** Milliseconds that a generator computes before each value. */
const sliceMs = 20;

/** A service of one worker with `count` streams that compute, and are read. */
async function start(t: TestContext, spareWorkers: number, count: number) {
  const { dispatcher: service } = await TestService.start(t, {
    modules: [fixture('streaming.ts')],
    spareWorkers,
  });
  /** The last value of each stream: how many slices all of them had had. */
  const last: number[] = [];
  const reading = Array.from({ length: count }, async (_, id) => {
    const stream = service.stream({ id, method: 'computes', params: { n: sliceMs } });
    last[id] = Number((await stream.next()).value);
    const rest = async (): Promise<void> => {
      for await (const value of stream) last[id] = Number(value);
    };
    // The end of the service ends the stream.
    rest().catch(() => {});
  });
  await Promise.all(reading);
  /** Calls a procedure that holds the thread for `ms`. @returns how many slices the streams had had before */
  const call = async (ms: number): Promise<number> => {
    const reply = await service.dispatch({ id: 1, method: 'slices', params: { n: ms } });
    return (reply as { result: number }).result;
  };
  /** Resolves when each stream has given another value. */
  const goOn = async (): Promise<void> => {
    const before = last.slice();
    while (last.some((value, i) => value === before[i])) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  return { call, goOn };
}

/** What a call met when it began: its thread, the slices that this one had begun, and the calls that had begun before. */
interface Met {
  readonly thread: number;
  readonly begun: number;
  readonly order: number;
}

const streamCounts = [1, 4, 20];
const kinds = ['sync', 'async'] as const;
/** `expires`: a call with so little time that it ends in a look of the pool, if it does not run before. */
const steps = ['short', 'long', 'expires', 'slice'] as const;
type Step = (typeof steps)[number];

/** A service whose generators hold their threads until the test lets a slice end. */
class HeldSlices {
  readonly #cells: Int32Array;
  readonly #service: Dispatcher;
  readonly #streams: AsyncGenerator<unknown>[] = [];
  /** The threads that have streams. */
  readonly #threads = new Set<number>();

  private constructor(cells: Int32Array, service: Dispatcher) {
    this.#cells = cells;
    this.#service = service;
  }

  static async start(t: TestContext, workers: number, spareWorkers: number): Promise<HeldSlices> {
    const cells = createCells();
    setEnvironmentData(cellsName, cells);
    const own = inReverse(t);
    own.after(() => setEnvironmentData(cellsName, undefined as never));
    const { dispatcher } = await TestService.start(own, {
      modules: [fixture('slices.ts')],
      workers,
      spareWorkers,
    });
    const slices = new HeldSlices(cells, dispatcher);
    own.after(() => slices.open());
    await until(() => dispatcher.stats().pool?.spares === spareWorkers);
    return slices;
  }

  /** Opens a stream while slices are held. @returns its thread */
  async join(method: (typeof kinds)[number]): Promise<number> {
    const stream = this.#service.stream({ id: 1, method });
    this.#streams.push(stream);
    return Number((await stream.next()).value);
  }

  /** The threads that have streams. */
  get threads(): number[] {
    return [...this.#threads];
  }

  /** Opens streams, and holds each of their threads in a slice. */
  async hold(method: (typeof kinds)[number], count: number): Promise<void> {
    this.open();
    await Promise.all(
      Array.from({ length: count }, async (_, id) => {
        const stream = this.#service.stream({ id, method });
        this.#streams.push(stream);
        this.#threads.add(Number((await stream.next()).value));
        const rest = async (): Promise<void> => {
          for await (const thread of stream) this.#threads.add(Number(thread));
        };
        rest().catch(() => {});
      }),
    );
    Atomics.store(this.#cells, Shared.isOpen, 0);
    for (const thread of this.#threads) {
      await until(() => this.#read(thread, Own.isHeld) === 1);
    }
  }

  /** Ends a slice of each thread that has streams. Resolves in the next slices, when all that came before has been sent. */
  async step(): Promise<void> {
    for (const thread of this.#threads) {
      const before = this.#read(thread, Own.begun);
      this.#allow(thread);
      await until(() => this.#read(thread, Own.begun) > before);
      await until(() => this.#read(thread, Own.isHeld) === 1);
    }
    // A thread without streams that the machine holds up keeps its calls, or gives them back to one that has streams: no slice may end meanwhile.
    const isIdle = (): boolean =>
      this.#threadStats.every(({ streams, inFlight }) => streams > 0 || inFlight === 0);
    await until(isIdle);
    await turns();
  }

  get #threadStats() {
    const { workers = [], express } = this.#service.stats().pool ?? {};
    return express === undefined ? workers : [...workers, express];
  }

  /** @returns what the call met, and the slices that had begun when it was sent, by thread; undefined: it had no time left */
  async call(method: string, timeoutMs?: number) {
    const begun = Array.from({ length: mostThreads }, (_, thread) => this.#read(thread, Own.begun));
    const reply = await this.#service.dispatch({ id: 1, method }, { timeoutMs });
    const { result, error } = reply as { result?: Met; error?: { code: number } };
    if (result === undefined) assert.equal(error?.code, ErrorCode.DeadlineExceeded);
    return result && { ...result, waited: result.begun - (begun[result.thread] as number) };
  }

  /** Ends the streams. */
  async release(): Promise<void> {
    this.open();
    await Promise.all(this.#streams.splice(0).map((stream) => stream.return(undefined)));
    this.#threads.clear();
    await until(() => this.#threadStats.every((one) => one.streams + one.left === 0));
  }

  /** From now on slices end by themselves. */
  open(): void {
    Atomics.store(this.#cells, Shared.isOpen, 1);
    for (let thread = 0; thread < mostThreads; thread++) this.#allow(thread);
  }

  /** Lets the slice end that a thread is in. */
  #allow(thread: number): void {
    const allowed = cellOf(thread, Own.allowed);
    Atomics.store(this.#cells, allowed, this.#read(thread, Own.begun));
    Atomics.notify(this.#cells, allowed);
  }

  #read(thread: number, cell: number): number {
    return Atomics.load(this.#cells, cellOf(thread, cell));
  }
}

/** Sends calls in slices that are held, and lets slices end until each has its answer. */
async function waitForSlices(slices: HeldSlices, script: readonly Step[]): Promise<void> {
  const calls: ReturnType<HeldSlices['call']>[] = [];
  let waiting = 0;
  for (const step of script) {
    if (step === 'slice') await slices.step();
    else if (step === 'expires') await slices.call('short', 15);
    else {
      waiting++;
      calls.push(slices.call(step).finally(() => waiting--));
      await turns();
    }
  }
  // Those that still wait then have waited for too many.
  for (let i = 0; waiting > 0 && i < script.length + 2; i++) await slices.step();
  slices.open();
  const all = (await Promise.all(calls)).filter((met) => met !== undefined);
  for (const [i, { thread, order, waited }] of all.entries()) {
    const before = all.filter((one, at) => at !== i && one.thread === thread && one.order < order);
    assert.ok(
      waited <= before.length,
      `call ${i}: ${waited} slices after the one in which it came, ${before.length} calls before it`,
    );
  }
}

describe('pooled calls beside generators that compute between their values', () => {
  for (const [workers, spareWorkers] of [
    [1, 0],
    [1, 1],
    [1, 2],
    [2, 1],
  ] as const) {
    test(`a call waits for one slice of its worker and the calls before it: ${workers} workers, ${spareWorkers} spares`, async (t) => {
      const slices = await HeldSlices.start(t, workers, spareWorkers);
      const run = async (kind: (typeof kinds)[number], count: number, script: readonly Step[]) => {
        await slices.hold(kind, count);
        try {
          await waitForSlices(slices, script);
        } finally {
          await slices.release();
        }
      };
      // A long call that the pool looks at while it waits.
      for (const kind of kinds) {
        for (const count of streamCounts) {
          await run(kind, count, ['long', 'expires', 'expires', 'slice', 'short', 'expires']);
        }
      }
      const property = fc.asyncProperty(
        fc.constantFrom(...kinds),
        fc.constantFrom(...streamCounts),
        fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 12 }),
        run,
      );
      await fc.assert(property, { seed, numRuns: cases(10) });
    });
  }

  test('a stream that opens beside a computing stream leaves the express worker to short calls', async (t) => {
    const slices = await HeldSlices.start(t, 1, 1);
    await slices.hold('sync', 1);
    await slices.call('short', 15);
    const thread = slices.join('sync');
    await slices.call('short', 15);
    await slices.call('short', 15);
    slices.open();
    assert.deepEqual([await thread], slices.threads);
    await slices.release();
  });

  test('calls without end leave the streams about half of the time', async (t) => {
    const { call, goOn } = await start(t, 0, 1);
    const [calls, ms] = [300, 2];
    const seen = await Promise.all(Array.from({ length: calls }, () => call(ms)));
    const had = Math.max(...seen) - Math.min(...seen);
    const even = (calls * ms) / sliceMs;
    assert.ok(had >= even / 8, `${had} slices beside ${calls} calls, ${even} would be even`);
    await goOn();
  });
});
