import type { CallObserver } from '../../../src/core/dispatch/call.ts';
import type { Executor } from '../../../src/core/dispatch/executor.ts';
import type { OpenStreams } from '../../../src/core/dispatch/streams/open-streams.ts';
import type { FaultReporter } from '../../../src/core/procedures/fault.ts';
import type { AnyRouter } from '../../../src/core/procedures/router.ts';

/** The clauses that hold for some executors only, and why an executor may lack one. */
export interface Abilities {
  /** It runs calls. One that is closed from the start does not. */
  readonly runs: boolean;
  /** It can stop a thread: synchronous code ends at its deadline, and a thread that dies costs only its calls. */
  readonly stopsThreads: boolean;
  /** It runs streams. */
  readonly streams: boolean;
  /** Its procedures are those of test/fixtures/executors/batched.ts: calls run together. */
  readonly batches: boolean;
}

export interface OpenOptions {
  readonly observer: CallObserver;
  /** Bytes of one reply. */
  readonly maxReplyBytes: number;
  readonly onFault: FaultReporter;
}

export interface Opened {
  readonly executor: Executor;
  /** The streams that its calls have opened. */
  readonly streams: OpenStreams;
  /** As the service closes it. Resolves when it is closed. */
  readonly close: (graceMs: number) => Promise<void>;
}

/** An executor that the suite is run over. */
export interface Subject {
  readonly name: string;
  /** What it runs. */
  readonly router: AnyRouter;
  readonly abilities: Abilities;
  /** Cases to generate, and those that end the executor or a thread of it: opening one may cost nothing, or threads. */
  readonly cases: { readonly mixes: number; readonly closes: number };
  open(options: OpenOptions): Promise<Opened>;
}
