import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ErrorCode } from '../../../src/core/protocol/errors.ts';
import { seed } from '../../seed.ts';
import { turn } from '../../turns.ts';
import { Bench, type Streaming, type StreamMethod } from './bench.ts';
import { endsOnce } from './expect.ts';
import { assertInOrder, streamEnds } from './expect-stream.ts';
import type { Subject } from './subject.ts';

/** What a stream does, and the codes it may end with where nothing else interferes. */
const kinds = {
  counts: 0,
  ticks: 0,
  refusesLater: 1234,
  breaksLater: ErrorCode.InternalError,
  growsLater: ErrorCode.LimitExceeded,
} as const satisfies Partial<Record<StreamMethod, number>>;

interface Planned {
  readonly method: keyof typeof kinds;
  readonly n: number;
  /** What its reader does after so many values: reads on, stalls, cancels, or leaves its request. */
  readonly reader: 'reads' | 'stalls' | 'cancels' | 'leaves';
  readonly after: number;
}

/** Milliseconds: a machine that is busy with other work must not keep a generator from a value for so long. */
export const shortlyMs = 500;

const names = Object.keys(kinds) as (keyof typeof kinds)[];

const planned: fc.Arbitrary<Planned> = fc.record({
  method: fc.constantFrom(...names),
  n: fc.nat({ max: 120 }),
  reader: fc.constantFrom('reads', 'reads', 'stalls', 'cancels', 'leaves'),
  after: fc.nat({ max: 100 }),
});
const plans = fc.array(planned, { minLength: 1, maxLength: 12 });

interface Made extends Streaming {
  readonly plan: Planned;
}

function open(bench: Bench, plan: Planned): Made {
  const { method, n, reader, after } = plan;
  const options = reader === 'stalls' ? { stallsAt: after } : {};
  const made = { plan, ...bench.stream(method, n, options) };
  if (reader === 'cancels' || reader === 'leaves') void leaveAfter(made);
  return made;
}

/** A stream may come to its end before. */
async function leaveAfter({ plan, sent, reader }: Made): Promise<void> {
  const isTime = (): boolean => reader.values.length >= plan.after;
  await reader.until(() => reader.outcome !== undefined || (reader.hasOpened && isTime()));
  if (plan.reader === 'leaves') sent.scope.cancel();
  else if (reader.outcome === undefined) reader.cancel();
}

/**
 * A stream comes to its one end, or was cancelled by its reader.
 *
 * @param others codes of what interferes: of the call where it has not opened, or of the stream
 */
async function comesToItsEnd(bench: Bench, made: Made, others: readonly number[]): Promise<void> {
  const { plan, sent, reader } = made;
  await endsOnce(bench, sent, 0, ...others);
  if (!reader.hasOpened) {
    assert.deepEqual(bench.endsOf(sent), []);
    return;
  }
  await reader.until(() => reader.isCancelled || reader.outcome !== undefined);
  assertInOrder(made);
  if (reader.isCancelled) {
    assert.deepEqual(bench.endsOf(sent), [ErrorCode.Cancelled]);
    return;
  }
  const left = plan.reader === 'leaves' ? [ErrorCode.Cancelled] : [];
  const code = kinds[plan.method];
  const outcome = await streamEnds(bench, made, code, ...left, ...others);
  if (outcome.code === code) assert.equal(reader.values.length, plan.n, 'none is missing');
}

/** All that are read come to their ends, and what stalls meanwhile is cancelled then. */
async function allEnd(
  bench: Bench,
  made: readonly Made[],
  others: readonly number[],
): Promise<void> {
  const isRead = ({ plan }: Made): boolean => plan.reader !== 'stalls';
  for (const one of made.filter(isRead)) await comesToItsEnd(bench, one, others);
  await bench.barrier();
  for (const one of made.filter((other) => !isRead(other))) {
    await endsOnce(bench, one.sent, 0, ...others);
    if (one.reader.outcome === undefined) one.reader.cancel();
    await comesToItsEnd(bench, one, others);
  }
  // Nothing comes later.
  await bench.barrier();
  for (const one of made) assertInOrder(one);
}

/** Streams of all kinds at once. */
export async function streamMixes(bench: Bench): Promise<void> {
  const property = fc.asyncProperty(plans, async (all) => {
    await allEnd(
      bench,
      all.map((plan) => open(bench, plan)),
      [],
    );
  });
  await fc.assert(property, { seed, numRuns: bench.subject.cases.mixes });
}

/** The same, and one of them ends its thread, or holds it until it is stopped. */
export async function streamDeaths(bench: Bench): Promise<void> {
  const fatal = fc.constantFrom<StreamMethod>('diesLater', 'spinsLater');
  const property = fc.asyncProperty(
    plans,
    fatal,
    fc.nat({ max: 12 }),
    fc.nat({ max: 60 }),
    async (all, method, at, n) => {
      const made: Made[] = [];
      // One that dies has no deadline that a busy machine could reach before it.
      const limit = method === 'spinsLater' ? { timeoutMs: shortlyMs } : {};
      const kill = (): Streaming => bench.stream(method, n, limit);
      let killing: Streaming | undefined;
      for (const [i, plan] of all.entries()) {
        if (i === at) killing = kill();
        made.push(open(bench, plan));
      }
      killing ??= kill();
      const end = method === 'diesLater' ? ErrorCode.WorkerLost : ErrorCode.DeadlineExceeded;
      await streamEnds(bench, killing, end);
      assert.equal(killing.reader.values.length, n, 'what was yielded has come');
      await allEnd(bench, made, [ErrorCode.WorkerLost]);
    },
  );
  await fc.assert(property, { seed, numRuns: bench.subject.cases.closes });
}

/** The same, and the executor is closed before all have come, or its streams are drained as by a reload. */
export async function streamsClosedInTheMidst(subject: Subject): Promise<void> {
  const property = fc.asyncProperty(
    plans,
    fc.nat({ max: 12 }),
    fc.nat({ max: 3 }),
    fc.boolean(),
    async (all, at, turns, isReload) => {
      const bench = await Bench.open(subject);
      try {
        const made = all.slice(0, at).map((plan) => open(bench, plan));
        for (let i = 0; i < turns; i++) await turn();
        const { streams } = bench.opened;
        const closing = isReload ? streams.drain('reload', 50, 0) : bench.opened.close(0);
        made.push(...all.slice(at).map((plan) => open(bench, plan)));
        await closing;
        for (const one of made) {
          await comesToItsEnd(bench, one, [ErrorCode.Cancelled, ErrorCode.WorkerLost]);
        }
      } finally {
        await bench.end();
      }
    },
  );
  await fc.assert(property, { seed, numRuns: subject.cases.closes });
}
