import { isReplica } from '../base/thread-role.ts';
import { ErrorCode, standardError } from '../protocol/errors.ts';
import { oneOf, optionsCheck, wholeNumber } from '../schema/options.ts';
import type { Procedure, StreamRules } from './types.ts';

/** `subscribe`, alone or as the last word of a name: after `_`, `.`, `/` or `:`. */
const subscribing = /(^|[_./:])subscribe$/;

interface Streaming {
  readonly name: string;
  readonly stream: Pick<StreamRules, 'notification' | 'unsubscribe'> | undefined;
}

/**
 * The methods of a procedure's subscriptions: as its options say, else by its name. `eth_subscribe` notifies as
 * `eth_subscription` and is ended by `eth_unsubscribe`, as clients of Ethereum nodes expect. `ticks` notifies as `ticks`.
 *
 * @returns unsubscribe: the call that ends it, beside `rpc.unsubscribe`; undefined: there is no other
 */
export function subscriptionNames({ name, stream }: Streaming) {
  const isSubscribing = subscribing.test(name);
  const base = name.slice(0, -'subscribe'.length);
  return {
    notification: stream?.notification ?? (isSubscribing ? `${base}subscription` : name),
    unsubscribe: stream?.unsubscribe ?? (isSubscribing ? `${base}unsubscribe` : undefined),
  };
}

const known = new WeakMap<ReadonlyMap<string, Procedure>, { size: number; names: Set<string> }>();

/** All methods that end a subscription in a table, without `rpc.unsubscribe`. A table never loses procedures. */
export function unsubscribeNames(table: ReadonlyMap<string, Procedure>): ReadonlySet<string> {
  let found = known.get(table);
  if (found?.size !== table.size) {
    const names = new Set<string>();
    for (const procedure of table.values()) {
      if (procedure.stream === undefined) continue;
      const { unsubscribe } = subscriptionNames(procedure);
      if (unsubscribe !== undefined) names.add(unsubscribe);
    }
    found = { size: table.size, names };
    known.set(table, found);
  }
  return found.names;
}

export interface TopicOptions {
  /** Values that are kept for a subscriber that does not keep up. Default 16. */
  readonly buffer?: number | undefined;
  /**
   * What happens to a subscriber whose buffer is full. `drop-oldest`, the default: it misses the oldest values. `end`: it
   * gets those that are kept, then an error that says so, a -32003 with `{ reason: 'overflow', buffer }`.
   */
  readonly overflow?: 'drop-oldest' | 'end' | undefined;
}

const checkTopicOptions = optionsCheck<keyof TopicOptions>(
  { buffer: () => wholeNumber('values', 1), overflow: () => oneOf('drop-oldest', 'end') },
  { Failure: TypeError },
);

/**
 * Hands values of one source to all who subscribe: `topic.publish(value)`, and in a stream
 * `for await (const value of topic.subscribe(signal)) yield value`. A subscriber that does not keep up costs `buffer` values,
 * and holds up neither the source nor the others.
 *
 * A topic lives on the main thread: procedures that publish or subscribe run inline.
 */
export class Topic<T> {
  readonly #buffer: number;
  readonly #overflow: 'drop-oldest' | 'end';
  readonly #subscriptions = new Set<Subscription<T>>();

  /** @throws TypeError for an option that can't be */
  constructor(options: TopicOptions = {}) {
    checkTopicOptions(options, 'Topic');
    const { buffer = 16, overflow = 'drop-oldest' } = options;
    this.#buffer = buffer;
    this.#overflow = overflow;
  }

  /**
   * Gives each subscriber the value itself, not a copy. Returns at once: nobody is waited for.
   *
   * @throws Error in a worker
   */
  publish(value: T): void {
    enter('publish');
    for (const subscription of this.#subscriptions) subscription.push(value);
  }

  /**
   * The values that are published from now on. Leave the loop, or abort the signal, to end the subscription: without
   * either it lasts as long as the topic.
   *
   * @param signal `context.signal` of the stream: the loop then throws its reason
   * @throws Error in a worker
   */
  subscribe(signal?: AbortSignal): AsyncGenerator<T, undefined, undefined> {
    enter('subscribe');
    const subscription = new Subscription<T>(this.#buffer, this.#overflow, signal, (over) => {
      this.#subscriptions.delete(over);
    });
    if (!subscription.isOver) this.#subscriptions.add(subscription);
    return subscription;
  }
}

/** A global symbol is shared by every copy of this package in the thread. */
const used = Symbol.for('tandem-rpc.usesTopics');

type Marked = typeof globalThis & { [used]?: boolean };

/** Whether anything on this thread has published or subscribed. */
export function usesTopics(): boolean {
  return (globalThis as Marked)[used] === true;
}

/** @throws Error in a worker: what is published there reaches nobody */
function enter(what: string): void {
  if ((globalThis as Marked)[used] === true) return;
  if (isReplica()) {
    throw new Error(
      `a topic lives on the main thread, and this is a worker, where ${what} would reach nobody: declare placement: 'inline' for the procedure`,
    );
  }
  (globalThis as Marked)[used] = true;
}

interface Waiting<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * One reader of a topic. Its values wait in a ring of a fixed size, or for as long as it keeps up in none.
 *
 *     push          who waits is given the value; else it is kept, and the oldest dropped if the ring is full
 *     next          the oldest value that is kept; else what comes next
 *     end, abort    what is kept is still given if the ring was full, and dropped if the reader has gone
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

  /** @param onOver is called once, when it takes no more values; before the constructor returns if that is so at once */
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
