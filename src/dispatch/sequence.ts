import { ErrorCode } from '../jsonrpc/errors.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import type { Call } from './call.ts';
import type { Executor } from './executor.ts';
import { errorFor } from './limit.ts';

/** One place of a batch: a call and where it runs, or a reply that stands already. */
export type Step =
  | { readonly call: Call; readonly executor: Executor }
  | { readonly call: undefined; readonly reply: Reply };

/**
 * Runs the steps of a batch strictly one after another, whatever their placement, and gives the replies
 * in the same order. Neighbours for one executor are handed over together, so that they share a frame.
 * Synchronous until a promise appears.
 *
 * @param maxBytes bound on all replies together; a result that breaks it, and what comes after, gets -32004
 */
export function runInOrder(
  steps: readonly Step[],
  maxBytes: number,
): readonly Reply[] | Promise<readonly Reply[]> {
  return new Sequence(steps, maxBytes).run();
}

/** Calls handed over at once to an executor that sends them on; on this thread nothing is saved by it. */
const longestRun = 64;

class Sequence {
  readonly #steps: readonly Step[];
  readonly #budget: ReplyBudget;
  readonly #replies: Reply[] = [];

  constructor(steps: readonly Step[], maxBytes: number) {
    this.#steps = steps;
    this.#budget = new ReplyBudget(maxBytes);
  }

  run(): readonly Reply[] | Promise<readonly Reply[]> {
    while (this.#replies.length < this.#steps.length) {
      const step = this.#steps[this.#replies.length] as Step;
      if (step.call === undefined) {
        this.#push(step.reply);
      } else if (this.#budget.isSpent) {
        this.#push(this.#budget.refuse(step.call));
      } else {
        const replies = step.executor.executeInOrder(this.#runFrom(this.#replies.length));
        if (replies instanceof Promise) {
          return replies.then((values) => {
            this.#pushAll(values);
            return this.run();
          });
        }
        this.#pushAll(replies);
      }
    }
    return this.#replies;
  }

  /** The calls from `start` on that one executor can run without another in between. */
  #runFrom(start: number): Call[] {
    const first = this.#steps[start] as Step & { call: Call };
    const most = first.executor.takesUnparsed ? longestRun : 1;
    const calls: Call[] = [];
    for (let i = start; i < this.#steps.length && calls.length < most; i++) {
      const step = this.#steps[i] as Step;
      if (step.call === undefined || step.executor !== first.executor) break;
      calls.push(step.call);
    }
    return calls;
  }

  #pushAll(replies: readonly Reply[]): void {
    for (const reply of replies) this.#push(reply);
  }

  #push(reply: Reply): void {
    const { call } = this.#steps[this.#replies.length] as Step;
    this.#replies.push(this.#budget.take(call, reply));
  }
}

/** What the replies of a batch may still take: together they keep the limit of one reply. */
class ReplyBudget {
  readonly #maxBytes: number;
  #left: number;
  /** A result was left out: nothing more is run. */
  isSpent = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#left = maxBytes - 1; // the opening bracket
  }

  /** The reply where it still fits; else a -32004 in its place, which like other errors is let through. */
  take(call: Call | undefined, reply: Reply): Reply {
    if (reply === undefined) return undefined;
    const bytes = Buffer.byteLength(reply) + 1; // and what separates or closes
    if (bytes > this.#left && call !== undefined) {
      this.isSpent = true;
      return this.refuse(call);
    }
    this.#left -= bytes;
    return reply;
  }

  refuse(call: Call): Reply {
    return errorFor(call, ErrorCode.LimitExceeded, { limit: this.#maxBytes });
  }
}

/**
 * Runs up to `concurrency` steps of a batch at a time, begun in order; the replies in the order of the
 * steps. For operators who know that the calls of their batches do not depend on each other.
 */
export async function runConcurrently(
  steps: readonly Step[],
  concurrency: number,
  maxBytes: number,
): Promise<readonly Reply[]> {
  const replies: Reply[] = steps.map(() => undefined);
  const budget = new ReplyBudget(maxBytes);
  let next = 0;
  const runNext = async (): Promise<void> => {
    while (next < steps.length) {
      const index = next++;
      const step = steps[index] as Step;
      let reply: Reply;
      if (step.call === undefined) reply = step.reply;
      else if (budget.isSpent) reply = budget.refuse(step.call);
      else reply = await step.executor.execute(step.call);
      replies[index] = budget.take(step.call, reply);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, steps.length) }, runNext));
  return replies;
}

/** A batch's replies as one JSON array; undefined when there is none: only notifications. */
export function joinReplies(replies: readonly Reply[]): Reply {
  const given = replies.filter((reply) => reply !== undefined);
  if (given.length === 0) return undefined;
  if (given.every((reply) => typeof reply === 'string')) return `[${given.join(',')}]`;
  const parts: Uint8Array[] = [];
  for (const [i, reply] of given.entries()) {
    parts.push(Buffer.from(i === 0 ? '[' : ','));
    parts.push(typeof reply === 'string' ? Buffer.from(reply) : reply);
  }
  parts.push(Buffer.from(']'));
  return Buffer.concat(parts);
}
