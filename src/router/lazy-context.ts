import { wallTimeOf } from '../base/clock.ts';
import type { ErrorMakers } from './declared-errors.ts';
import type { InvokeContext } from './invoke.ts';
import type { Procedure } from './types.ts';

/** What a request's calls share. */
export interface RequestFacts {
  /** Frozen. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly remoteAddress?: string | undefined;
  /** JSON text of what is known of the caller: each call that asks gets a value of its own. */
  readonly authText?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** Two readings of the wall clock through another differ by so much where nobody sets it, milliseconds. */
const clocksDifferMs = 2;

const noErrors: Record<never, never> = Object.freeze({});
const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

/** The context handed to a handler, in either place. Its signal and id cost nothing until they are read. */
export class LazyContext implements InvokeContext {
  /** Milliseconds its handler held the thread, where that began after a wait for `authorize`. */
  resumedMs = 0;
  readonly #procedure: Procedure;
  readonly #id: string | undefined;
  readonly #facts: RequestFacts | undefined;
  /** By `clockMs`, and as the handler was told of it last. */
  readonly #endsAt: number;
  #deadline = 0;
  #auth: unknown;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;

  /**
   * @param id JSON text of the request's id, undefined for a notification
   * @param endsAt when it must have ended, by `clockMs`
   */
  constructor(
    procedure: Procedure,
    id: string | undefined,
    facts: RequestFacts | undefined,
    endsAt: number,
  ) {
    this.#procedure = procedure;
    this.#id = id;
    this.#facts = facts;
    this.#endsAt = endsAt;
  }

  /** By the wall clock as it is now: one that was set meanwhile must not change how much time is left. */
  get deadline(): number {
    const deadline = Math.floor(wallTimeOf(this.#endsAt));
    // The two clocks are not read in the same instant: between steps a call has one deadline.
    if (Math.abs(deadline - this.#deadline) > clocksDifferMs) this.#deadline = deadline;
    return this.#deadline;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get id(): string | number | null | undefined {
    return this.#id === undefined ? undefined : (JSON.parse(this.#id) as string | number | null);
  }

  get method(): string {
    return this.#procedure.name;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#facts?.headers ?? noHeaders;
  }

  get remoteAddress(): string | undefined {
    return this.#facts?.remoteAddress;
  }

  get auth(): unknown {
    if (this.#auth === undefined) {
      const text = this.#facts?.authText;
      if (text !== undefined) this.#auth = JSON.parse(text);
    }
    return this.#auth;
  }

  get traceparent(): string | undefined {
    return this.#facts?.traceparent;
  }

  get tracestate(): string | undefined {
    return this.#facts?.tracestate;
  }

  get errors(): ErrorMakers<Record<never, never>> {
    return this.#procedure.errors?.make ?? noErrors;
  }

  get state(): unknown {
    return this.#procedure.moduleState?.value;
  }

  /** Aborts the signal, now or when it is first read; the first reason stays. */
  abort(reason: Error): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }
}
