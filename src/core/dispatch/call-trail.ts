import { type AsyncHook, createHook, executionAsyncResource } from 'node:async_hooks';
import { clockMs } from '../base/clock.ts';

/** What may block the front end. */
export interface Blocker {
  /** Names it to `runningCode`. */
  readonly slot: number;
  /** It has held the thread for so long, milliseconds. */
  onBlocked(ms: number): void;
}

/** Measures stretches of code. `FrontEndWatch` is the only one. */
export interface Stopwatch {
  readonly claimedMs: number;
  lagAt(now: number): number;
  ended(owner: Blocker, from: number, lag: number, claimed: number): void;
}

/** Longest time for which calls are followed without a break, milliseconds: the hooks must not slow every promise of the process for ever. */
const longestMs = 10_000;

/** Code that runs now, called by the event loop. */
interface Running {
  readonly asyncId: number;
  readonly owner: Blocker | undefined;
  readonly from: number;
  readonly lag: number;
  readonly claimed: number;
}

/**
 * Tells whose code runs after an `await`. What a followed call makes (promises, timers, sockets) belongs to its owner, and
 * so does what these make when they run; the time that each of them runs is measured. The hooks of Node that tell it
 * make every promise of the process slower, so they are in place only while followed calls are.
 */
export class CallTrail {
  readonly #watch: Stopwatch;
  #hook: AsyncHook | undefined;
  #owners = new WeakMap<object, Blocker>();
  #current: Blocker | undefined;
  #running: Running[] = [];
  #following = 0;
  #since = 0;
  /** Counts the times that the hooks were put in place: a call may outlive the time in which it began. */
  #round = 0;

  constructor(watch: Stopwatch) {
    this.#watch = watch;
  }

  get isOn(): boolean {
    return this.#following > 0;
  }

  /** Follows a call to its end. Give what is returned to `end`. */
  begin(): number {
    if (this.#following++ === 0) {
      this.#since = clockMs();
      this.#round++;
      this.#hook ??= this.#createHook();
      this.#hook.enable();
    }
    return this.#round;
  }

  end(round: number): void {
    if (round === this.#round && this.#following > 0 && --this.#following === 0) this.stop();
  }

  /** Runs the beginning of a call as the code of its owner; undefined: a call that is not followed. */
  run<R>(owner: Blocker | undefined, code: () => R): R {
    const before = this.#current;
    this.#current = owner;
    try {
      return code();
    } finally {
      this.#current = before;
    }
  }

  /** Gives up what has been followed for too long. */
  limit(now: number): void {
    if (this.isOn && now - this.#since > longestMs) this.stop();
  }

  stop(): void {
    this.#hook?.disable();
    this.#following = 0;
    this.#owners = new WeakMap();
    this.#running = [];
    this.#current = undefined;
  }

  #createHook(): AsyncHook {
    return createHook({
      init: (_asyncId, _type, _trigger, resource) => {
        if (this.#current !== undefined) this.#owners.set(resource, this.#current);
      },
      before: (asyncId) => {
        const owner = this.#owners.get(executionAsyncResource());
        const from = owner === undefined ? 0 : clockMs();
        const lag = owner === undefined ? 0 : this.#watch.lagAt(from);
        const { claimedMs: claimed } = this.#watch;
        this.#running.push({ asyncId, owner, from, lag, claimed });
        this.#current = owner;
      },
      after: (asyncId) => this.#ended(asyncId),
    });
  }

  #ended(asyncId: number): void {
    // This code began before the hooks were in place.
    if (!this.#running.some((running) => running.asyncId === asyncId)) return;
    let ended = this.#running.pop();
    // Code above it in the list ended by a throw that nobody caught: no hook was called for its end.
    while (ended !== undefined && ended.asyncId !== asyncId) ended = this.#running.pop();
    this.#current = this.#running.at(-1)?.owner;
    if (ended?.owner === undefined) return;
    const { owner, from, lag, claimed } = ended;
    this.#watch.ended(owner, from, lag, claimed);
  }
}
