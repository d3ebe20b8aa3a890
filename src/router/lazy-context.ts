import type { ErrorMakers } from './declared-errors.ts';
import type { InvokeContext } from './invoke.ts';
import type { Procedure } from './types.ts';

/** What a request's calls share. */
export interface RequestFacts {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly remoteAddress?: string | undefined;
  readonly auth?: unknown;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

const noErrors: Record<never, never> = Object.freeze({});
const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

/** The context handed to a handler, in either place. Its signal and id cost nothing until they are read. */
export class LazyContext implements InvokeContext {
  readonly deadline: number;
  /** Milliseconds its handler held the thread, where that began after a wait for `authorize`. */
  resumedMs = 0;
  readonly #procedure: Procedure;
  readonly #id: string | undefined;
  readonly #facts: RequestFacts | undefined;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;

  /**
   * @param id JSON text of the request's id, undefined for a notification
   * @param deadline Unix milliseconds
   */
  constructor(
    procedure: Procedure,
    id: string | undefined,
    facts: RequestFacts | undefined,
    deadline: number,
  ) {
    this.#procedure = procedure;
    this.#id = id;
    this.#facts = facts;
    this.deadline = deadline;
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
    return this.#facts?.auth;
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
