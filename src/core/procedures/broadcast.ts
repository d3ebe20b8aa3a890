import { Type } from '@sinclair/typebox';
import type { Place } from '../base/place.ts';
import { maxDelayMs, startTimer } from '../base/timer.ts';
import { jsonTextOf } from '../protocol/json-value.ts';
import { optionsCheck, text } from '../schema/options.ts';
import { describe, shortly } from './fault.ts';

/** What `setup` is told of its thread: `export function setup({ group, isMainThread }) {...}`. */
export interface SetupContext {
  /** The group that the worker belongs to; undefined on the main thread, and in workers without a group. */
  readonly group: string | undefined;
  readonly isMainThread: boolean;
}

/** The second argument of the functions in a module's export `broadcasts`. */
export interface BroadcastContext<State = unknown> extends SetupContext {
  /** What the module's `setup()` returned in this thread; undefined in a thread where `setup` does not run. */
  readonly state: State | undefined;
}

export interface BroadcastOptions {
  /** Reaches the workers of this group alone, and not the main thread. Default: the main thread and all workers. */
  readonly group?: string | undefined;
  /** Milliseconds that each thread has to answer. Default: the service's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /**
   * `last`: threads that start later run it too, with these params, before they take calls. The params of the last call of
   * a name count: a call without `replay` ends that of the calls before it. Default: only threads that exist run it.
   */
  readonly replay?: 'last' | undefined;
}

/** What a broadcast came to in one thread. */
export type BroadcastResult =
  /** `value`: what the function returned, a JSON value; null if it returned nothing. */
  | { readonly place: Place; readonly ok: true; readonly value: unknown }
  /** `error`: the message of what was thrown, or why there is no answer. */
  | { readonly place: Place; readonly ok: false; readonly error: string };

/** Runs a broadcast of the served modules: see `Dispatcher.broadcast`. */
export type Broadcast = (
  name: string,
  params?: unknown,
  options?: BroadcastOptions,
) => Promise<BroadcastResult[]>;

/** A broadcast as its caller asked for it, checked, on its way to the main thread. */
export interface BroadcastRequest {
  readonly name: string;
  /** JSON text; undefined: none were given. One text serves all threads, and nobody can change it meanwhile. */
  readonly params: string | undefined;
  readonly group: string | undefined;
  /** undefined: the service's `timeoutMs`. */
  readonly timeoutMs: number | undefined;
  readonly isReplayed: boolean;
}

const checkOptions = optionsCheck<keyof BroadcastOptions>(
  {
    group: text,
    timeoutMs: () =>
      Type.Number({
        exclusiveMinimum: 0,
        maximum: maxDelayMs,
        description: `milliseconds above 0, at most ${maxDelayMs}`,
      }),
    replay: () => Type.Literal('last', { description: "'last'" }),
  },
  { expected: "an object, such as { group: 'gpu', timeoutMs: 1000 }", Failure: TypeError },
);

/** @throws TypeError that says which argument of `broadcast` can't be */
export function toBroadcastRequest(
  name: unknown,
  params: unknown,
  options: BroadcastOptions = {},
): BroadcastRequest {
  if (typeof name !== 'string') {
    throw new TypeError(`broadcast: the name must be a string, not ${typeof name}`);
  }
  checkOptions(options, 'broadcast');
  const { group, timeoutMs, replay } = options;
  const json = params === undefined ? undefined : jsonTextOf(params, 'broadcast: params');
  return { name, params: json, group, timeoutMs, isReplayed: replay === 'last' };
}

/** A broadcast on its way to a thread. */
export interface BroadcastRun {
  readonly name: string;
  /** JSON text; undefined: none were given. */
  readonly params: string | undefined;
  /** How long the next broadcast of the name waits for the end of this one, milliseconds. */
  readonly timeoutMs: number;
}

/** The params with which a thread that starts runs a broadcast before its first call. */
export type BroadcastReplay = Pick<BroadcastRun, 'name' | 'params'>;

/** What a broadcast came to in a thread, as it crosses between threads. */
export type BroadcastOutcome =
  /** `text`: JSON text of the value. */
  | { readonly ok: true; readonly text: string }
  /** `text`: the message. `detail`: the stack, for the log; undefined: nothing has failed that the log should name. */
  | { readonly ok: false; readonly text: string; readonly detail?: string | undefined };

/** One function of a module's export `broadcasts`. */
export interface DeclaredBroadcast {
  /** The module as its user named it. */
  readonly module: string;
  readonly run: (params: unknown, context: BroadcastContext) => unknown;
  /** What the function is given now. */
  readonly context: () => BroadcastContext;
}

/** The broadcasts of the modules that one thread has loaded. Those of one name run one after another, as they came. */
export class ThreadBroadcasts {
  readonly #declared = new Map<string, DeclaredBroadcast>();
  /** Settles when the last broadcast of a name has ended, or its time is over. */
  readonly #ends = new Map<string, Promise<unknown>>();
  #open!: () => void;
  readonly #opened = new Promise<void>((resolve) => {
    this.#open = resolve;
  });
  #isOver = false;

  get names(): string[] {
    return [...this.#declared.keys()];
  }

  of(name: string): DeclaredBroadcast | undefined {
    return this.#declared.get(name);
  }

  add(name: string, declared: DeclaredBroadcast): void {
    this.#declared.set(name, declared);
  }

  /** The modules are set up: runs what has come, from now on at once. */
  open(): void {
    this.#open();
  }

  /** Runs a broadcast after those of its name that came before. Never rejects. */
  run({ name, params, timeoutMs }: BroadcastRun): Promise<BroadcastOutcome> {
    const declared = this.#declared.get(name);
    if (declared === undefined) {
      // A loading of the modules has other names than the one that serves.
      return Promise.resolve({ ok: false, text: `no module exports broadcasts.${name}` });
    }
    const before = this.#ends.get(name) ?? this.#opened;
    const begun = before.then(() => ({ outcome: this.#outcomeOf(declared, params) }));
    this.#ends.set(
      name,
      begun.then(({ outcome }) => settledWithin(outcome, timeoutMs)),
    );
    return begun.then(({ outcome }) => outcome);
  }

  /**
   * Runs what a thread that starts has missed. Broadcasts that come after this call run after those of their name.
   *
   * @param onFailed told the name and the stack of each that failed: the thread starts all the same
   */
  async replay(
    replays: readonly BroadcastReplay[],
    onFailed: (name: string, detail: string) => void,
  ): Promise<void> {
    const known = replays.filter(({ name }) => this.#declared.has(name));
    const replayed = known.map(async ({ name, params }) => {
      const outcome = await this.run({ name, params, timeoutMs: Number.POSITIVE_INFINITY });
      if (!outcome.ok && outcome.detail !== undefined) onFailed(name, outcome.detail);
    });
    await Promise.all(replayed);
  }

  /** The modules are torn down: what has not begun does not begin any more. */
  end(): void {
    this.#isOver = true;
    this.#open();
  }

  async #outcomeOf(
    { run, context }: DeclaredBroadcast,
    params: string | undefined,
  ): Promise<BroadcastOutcome> {
    if (this.#isOver) return { ok: false, text: 'its thread ends' };
    let value: unknown;
    try {
      value = await run(params === undefined ? undefined : JSON.parse(params), context());
    } catch (error) {
      return { ok: false, text: shortly(error), detail: describe(error) };
    }
    try {
      return { ok: true, text: value === undefined ? 'null' : jsonTextOf(value, 'the value') };
    } catch (error) {
      const text = `it has run, but ${shortly(error)}`;
      return { ok: false, text, detail: text };
    }
  }
}

/** Resolves when `outcome` has, which never rejects, or after `ms`. Nobody waits: the process may end before. */
function settledWithin(outcome: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = startTimer(ms, resolve).unref();
    void outcome.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
