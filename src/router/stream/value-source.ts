import type { Outcome } from '../../jsonrpc/reply.ts';
import { isThenable } from '../thenable.ts';

/** What one `next()` of a stream came to: the JSON text of a value, or how the stream ended. */
export type StreamStep = string | Outcome;

/** How what an iterator gives becomes steps. Neither throws. */
export interface StepRules {
  toStep(value: unknown): StreamStep;
  toEnd(returned: unknown): Outcome;
  toError(error: unknown): Outcome;
}

/**
 * The iterator that a handler gave. Nothing here throws or rejects. Who uses it calls `next` only when the step before is
 * there, and neither after the end nor after `close`.
 */
export class ValueSource {
  readonly #iterator: Iterator<unknown> | AsyncIterator<unknown>;
  readonly #rules: StepRules;

  constructor(iterator: Iterator<unknown> | AsyncIterator<unknown>, rules: StepRules) {
    this.#iterator = iterator;
    this.#rules = rules;
  }

  /** Synchronous where the iterator is. */
  next(): StreamStep | Promise<StreamStep> {
    try {
      const result: unknown = this.#iterator.next();
      return isThenable(result) ? this.#settle(result) : this.#read(result);
    } catch (error) {
      return this.#rules.toError(error);
    }
  }

  /**
   * Tells the iterator that nobody reads any more, so that its `finally` blocks run.
   *
   * @returns a promise where that takes time; a generator that waits runs them when its wait is over
   */
  close(): Promise<void> | undefined {
    try {
      const closed: unknown = this.#iterator.return?.();
      if (!isThenable(closed)) return undefined;
      return Promise.resolve(closed).then(
        () => {},
        () => {},
      );
    } catch {
      return undefined; // nobody is left who could be told
    }
  }

  async #settle(result: PromiseLike<unknown>): Promise<StreamStep> {
    try {
      return this.#read(await result);
    } catch (error) {
      return this.#rules.toError(error);
    }
  }

  /** @throws TypeError for what is no result of an iterator */
  #read(result: unknown): StreamStep {
    if (typeof result !== 'object' || result === null) {
      throw new TypeError('next() of the iterator of a stream gave no object');
    }
    const { done, value } = result as { readonly done?: unknown; readonly value?: unknown };
    // Any truthy `done` is the end, as for a loop of JavaScript.
    return done ? this.#rules.toEnd(value) : this.#rules.toStep(value);
  }
}

/**
 * The iterator of what a handler returned; undefined: it can't be iterated. A string can, and is no stream: who returns a
 * text means the text.
 */
export function iteratorOf(value: unknown): Iterator<unknown> | AsyncIterator<unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { [Symbol.asyncIterator]: waiting, [Symbol.iterator]: plain } = value as {
    [Symbol.asyncIterator]?: unknown;
    [Symbol.iterator]?: unknown;
  };
  const make = typeof waiting === 'function' ? waiting : plain;
  if (typeof make !== 'function') return undefined;
  return make.call(value) as Iterator<unknown> | AsyncIterator<unknown>;
}
