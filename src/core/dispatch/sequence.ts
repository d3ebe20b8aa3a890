import { maxUnitBytes, promised, type Reply, type ReplySink } from '../protocol/reply.ts';
import { type Call, type CallEnding, errorFor, limitExceeded, type Refusal } from './call.ts';
import type { Executor } from './executor.ts';
import { inlineCostUs } from './inline-turns.ts';

/** One entry of a batch: a call and its executor, or a reply that is made already. */
export type Step =
  | { readonly call: Call; readonly executor: Executor }
  | { readonly call: undefined; readonly reply: Reply };

/** Waits until the rest of a batch may go on, which is expected to take so many microseconds. */
type NextTurn = (costUs: number) => Promise<void>;

/** How the calls of a batch run. */
export interface BatchLimits {
  /** Calls of one batch that run at a time; 1: strictly one after another. */
  readonly batchConcurrency: number;
  /** Whether neighbours in a batch that are readOnly run at the same time. */
  readonly overlapReads: boolean;
}

/**
 * Runs the steps of a batch, and gives their replies as one, in the order of the steps. Synchronous until a call is answered
 * later, or until so many calls have run on this thread that other requests get a turn.
 *
 * Strictly one after another, whatever their placement: then neighbours for one executor are handed over together, so that
 * they share a frame. Or several at a time, begun in order: for operators who know that the calls of their batches do not
 * depend on each other.
 *
 * @param unplaced its `maxReplyBytes` bounds all replies together. A result that exceeds it, and every call after
 *   that result, gets -32004. `unplaced` reports the calls that therefore do not run; a result that is left out was
 *   reported as a result
 * @param nextTurn resolves when the rest of the batch may go on
 */
export function runBatch(
  steps: readonly Step[],
  { batchConcurrency, overlapReads }: BatchLimits,
  unplaced: CallEnding,
  nextTurn: NextTurn,
  sink: ReplySink,
): void {
  const budget = new ReplyBudget(unplaced);
  if (batchConcurrency === 1) {
    new OrderedRun(steps, budget, nextTurn, overlapReads, sink).goOn();
    return;
  }
  void runTogether(steps, batchConcurrency, budget, nextTurn).then((replies) =>
    sink.onReply(joinReplies(replies)),
  );
}

class OrderedRun implements ReplySink {
  readonly #steps: readonly Step[];
  readonly #nextTurn: NextTurn;
  readonly #overlapReads: boolean;
  readonly #sink: ReplySink;
  readonly #budget: ReplyBudget;
  readonly #pace: Pace;
  readonly #replies: Reply[] = [];
  /** Whether calls were handed over, and have no answer yet. */
  #isWaiting = false;
  /** Whether they were handed over just now: they are answered synchronously then. */
  #isHanding = false;

  constructor(
    steps: readonly Step[],
    budget: ReplyBudget,
    nextTurn: NextTurn,
    overlapReads: boolean,
    sink: ReplySink,
  ) {
    this.#steps = steps;
    this.#nextTurn = nextTurn;
    this.#overlapReads = overlapReads;
    this.#sink = sink;
    this.#budget = budget;
    this.#pace = new Pace(nextTurn);
  }

  /** Runs what comes next, until a call is not answered at once. */
  goOn(): void {
    const { length } = this.#steps;
    while (this.#replies.length < length) {
      if (!this.#runNext()) return;
    }
    this.#sink.onReply(joinReplies(this.#replies));
  }

  /** The reply of a call that was handed over alone. */
  onReply(reply: Reply): void {
    const { call } = this.#steps[this.#replies.length] as Step;
    if (this.#isHanding && call !== undefined) this.#pace.count(call, reply);
    this.#replies.push(this.#budget.take(call, reply));
    this.#answered();
  }

  /** @returns false: the batch goes on by itself, later */
  #runNext(): boolean {
    const start = this.#replies.length;
    const reads = this.#overlapReads ? readsFrom(this.#steps, start) : [];
    if (reads.length > 1) {
      void runTogether(reads, maxRunLength, this.#budget, this.#nextTurn).then((replies) => {
        this.#replies.push(...replies);
        this.goOn();
      });
      return false;
    }
    const step = this.#steps[start] as Step;
    if (step.call === undefined) this.#replies.push(this.#budget.take(undefined, step.reply));
    else if (this.#budget.isSpent) this.#replies.push(this.#budget.refuse(step.call));
    else return this.#hand(step.call, step.executor);
    return true;
  }

  #hand(call: Call, executor: Executor): boolean {
    this.#isHanding = true;
    this.#isWaiting = true;
    if (executor.executeInOrder === undefined) executor.execute(call, this);
    else this.#handNeighbours(executor);
    this.#isHanding = false;
    if (this.#isWaiting) return false;
    if (!this.#pace.isOver) return true;
    void this.#pace.turn().then(() => this.goOn());
    return false;
  }

  #handNeighbours(executor: Executor): void {
    const calls = neighboursFrom(this.#steps, this.#replies.length, executor);
    const onReply = (replies: readonly Reply[]): void => {
      for (let i = 0; i < calls.length; i++)
        this.#replies.push(this.#budget.take(calls[i], replies[i]));
      this.#answered();
    };
    executor.executeInOrder?.(calls, { onReply });
  }

  #answered(): void {
    this.#isWaiting = false;
    // Not in the middle of whatever gave the replies: the rest of the batch is no part of its work.
    if (!this.#isHanding) queueMicrotask(() => this.goOn());
  }
}

/** Most calls handed over at once to an executor that sends them on. An executor on this thread saves nothing by it. */
const maxRunLength = 64;

/** The calls from `start` on that one executor runs, without a call of another executor in between. */
function neighboursFrom(steps: readonly Step[], start: number, executor: Executor): Call[] {
  const calls: Call[] = [];
  for (let i = start; i < steps.length && calls.length < maxRunLength; i++) {
    const step = steps[i] as Step;
    if (step.call === undefined || step.executor !== executor) break;
    calls.push(step.call);
  }
  return calls;
}

/** The steps from `start` on that change nothing. */
function readsFrom(steps: readonly Step[], start: number): readonly Step[] {
  let end = start;
  while (steps[end]?.call?.procedure.effects?.readOnly === true) end++;
  return steps.slice(start, end);
}

/** The bytes that the replies of a batch may still take. All replies together have the limit of one reply. */
class ReplyBudget {
  readonly #maxBytes: number;
  readonly #unplaced: CallEnding;
  #left: number;
  /** Replies whose largest possible size was subtracted; undefined: replies are counted exactly from here on. */
  #uncounted: (string | Uint8Array)[] | undefined = [];
  /** true: a result was left out, and no further call is run. */
  isSpent = false;

  constructor(unplaced: CallEnding) {
    this.#maxBytes = unplaced.maxReplyBytes;
    this.#unplaced = unplaced;
    this.#left = this.#maxBytes - 1; // the opening bracket
  }

  /** Returns the reply where it fits, else a -32004. An error is let through even where it does not fit. */
  take(call: Call | undefined, reply: Reply): Reply {
    if (reply === undefined) return undefined;
    if (this.#uncounted !== undefined) {
      // Nearly no batch comes so close to the limit that its bytes must be counted.
      const most = reply.length * maxUnitBytes + 1;
      if (most <= this.#left) {
        this.#left -= most;
        this.#uncounted.push(reply);
        return reply;
      }
      this.#left = this.#maxBytes - 1;
      for (const taken of this.#uncounted) this.#left -= sizeOf(taken);
      this.#uncounted = undefined;
    }
    const bytes = sizeOf(reply);
    if (bytes > this.#left && call !== undefined) {
      this.isSpent = true;
      return errorFor(call, this.#tooLarge);
    }
    this.#left -= bytes;
    return reply;
  }

  /** The reply of a call that is not run, since the limit is exceeded. */
  refuse(call: Call): Reply {
    return this.#unplaced.refuse(call, this.#tooLarge);
  }

  get #tooLarge(): Refusal {
    return limitExceeded(this.#maxBytes);
  }
}

/** Bytes of a reply and of the comma or bracket behind it. */
function sizeOf(reply: string | Uint8Array): number {
  return Buffer.byteLength(reply) + 1;
}

/** Runs up to `concurrency` steps at a time. */
async function runTogether(
  steps: readonly Step[],
  concurrency: number,
  budget: ReplyBudget,
  nextTurn: NextTurn,
): Promise<readonly Reply[]> {
  const replies: Reply[] = steps.map(() => undefined);
  const pace = new Pace(nextTurn);
  let next = 0;
  const runNext = async (): Promise<void> => {
    while (next < steps.length) {
      const index = next++;
      const step = steps[index] as Step;
      const { call } = step;
      if (call === undefined) {
        replies[index] = budget.take(call, step.reply);
      } else if (budget.isSpent) {
        replies[index] = budget.refuse(call);
      } else {
        let isHanding = true;
        const answered = promised<Reply>((sink) =>
          step.executor.execute(call, {
            onReply: (reply) => {
              if (isHanding) pace.count(call, reply);
              sink.onReply(reply);
            },
          }),
        );
        isHanding = false;
        replies[index] = budget.take(call, await answered);
        if (pace.isOver) await pace.turn();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, steps.length) }, runNext));
  return replies;
}

/** A batch's replies as one JSON array; undefined where there are none: the batch had notifications only. */
function joinReplies(replies: readonly Reply[]): Reply {
  if (areTexts(replies)) return `[${replies.join(',')}]`;
  const given = replies.filter((reply) => reply !== undefined);
  if (given.length === 0) return undefined;
  if (areTexts(given)) return `[${given.join(',')}]`;
  const parts: Uint8Array[] = [];
  for (const [i, reply] of given.entries()) {
    parts.push(Buffer.from(i === 0 ? '[' : ','));
    parts.push(typeof reply === 'string' ? Buffer.from(reply) : reply);
  }
  parts.push(Buffer.from(']'));
  return Buffer.concat(parts);
}

function areTexts(replies: readonly Reply[]): replies is readonly string[] {
  for (const reply of replies) if (typeof reply !== 'string') return false;
  return replies.length > 0;
}

/** Calls that run inline in one turn of the event loop, as far as they belong to one batch. */
const callsPerTurn = 256;

/** Params of so many bytes count as one call more, and replies of so many characters: 64 KiB, or 256 KiB, fill a turn. */
const bytesPerCall = 256;
const charactersPerCall = 1024;

/**
 * Tells when a batch must let others have a turn. Each inline call is short by itself, but a thousand in a row would hold the
 * thread for long. Calls are counted, not timed: which batches are answered in the turn in which they arrived must not depend
 * on the machine.
 */
class Pace {
  readonly #nextTurn: NextTurn;
  #left = callsPerTurn;
  #turn: Promise<void> | undefined;

  constructor(nextTurn: NextTurn) {
    this.#nextTurn = nextTurn;
  }

  /** A call has run on this thread. */
  count({ start, end }: Call, reply: Reply): void {
    this.#left -= 1 + Math.floor((end - start) / bytesPerCall);
    this.#left -= Math.floor((reply?.length ?? 0) / charactersPerCall);
  }

  get isOver(): boolean {
    return this.#left <= 0;
  }

  /** The next turn of the batch: all its calls that run at the same time wait for one. */
  turn(): Promise<void> {
    this.#turn ??= this.#nextTurn(inlineCostUs(callsPerTurn * bytesPerCall, 0)).then(() => {
      this.#turn = undefined;
      this.#left = callsPerTurn;
    });
    return this.#turn;
  }
}
