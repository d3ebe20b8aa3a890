import { ErrorCode, standardError } from '../../jsonrpc/errors.ts';

interface Waiting<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * One reader of a topic. Its values wait in a ring of a fixed size, or for as long as it keeps up in none.
 *
 *     push          who waits is given the value; else it is kept, and the oldest dropped where the ring is full
 *     next          the oldest value that is kept; else what comes next
 *     end, abort    what is kept is still given where the ring was full, and dropped where the reader has gone
 */
export class Subscription<T> implements AsyncGenerator<T, undefined, undefined> {
  readonly #size: number;
  readonly #overflow: 'drop-oldest' | 'end';
  readonly #signal: AbortSignal | undefined;
  readonly #onOver: (subscription: Subscription<T>) => void;
  /** Made when a value has to wait for the first time. */
  #ring: (T | undefined)[] = [];
  #first = 0;
  #kept = 0;
  #waiting: Waiting<T>[] = [];
  /** Why nothing comes any more; undefined: it goes on, or has ended without an error. */
  #reason: { readonly error: unknown } | undefined;
  #isOver = false;

  /** @param onOver is called once, when it takes no more values; before the constructor returns where that is so at once */
  constructor(
    size: number,
    overflow: 'drop-oldest' | 'end',
    signal: AbortSignal | undefined,
    onOver: (subscription: Subscription<T>) => void,
  ) {
    this.#size = size;
    this.#overflow = overflow;
    this.#signal = signal;
    this.#onOver = onOver;
    if (signal?.aborted === true) this.#onAbort();
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  push(value: T): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value });
    } else if (this.#kept < this.#size) {
      this.#ring[(this.#first + this.#kept++) % this.#size] = value;
    } else if (this.#overflow === 'drop-oldest') {
      this.#ring[this.#first] = value;
      this.#first = (this.#first + 1) % this.#size;
    } else {
      this.#end({
        error: standardError(ErrorCode.Cancelled, { reason: 'overflow', buffer: this.#size }),
      });
    }
  }

  /** Not an async function: a promise in a promise would cost each value two more turns. */
  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#kept > 0) return Promise.resolve({ done: false, value: this.#take() });
    const reason = this.#reason;
    if (reason !== undefined) {
      this.#reason = undefined;
      return Promise.reject(reason.error);
    }
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#end(undefined);
    this.#drop();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<IteratorResult<T, undefined>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  readonly #onAbort = (): void => {
    this.#drop();
    this.#end({ error: this.#signal?.reason });
  };

  #take(): T {
    const value = this.#ring[this.#first] as T;
    this.#ring[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#size;
    this.#kept--;
    return value;
  }

  #drop(): void {
    this.#ring = [];
    this.#kept = 0;
    this.#reason = undefined;
  }

  #end(reason: { readonly error: unknown } | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason = reason;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#onOver(this);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve, reject } of waiting) {
      if (this.#reason === undefined) resolve({ done: true, value: undefined });
      else {
        reject(this.#reason.error);
        this.#reason = undefined;
      }
    }
  }
}
