import type { Config } from '../config/config.ts';
import type { MetricsSnapshot } from '../observe/snapshot.ts';

/** The first message to a server process: what it serves. */
export interface StartOrder {
  /** 1 to `of`. The successor of a process has the same number. */
  readonly number: number;
  /** How many server processes there are. */
  readonly of: number;
  /** No process of this supervisor has listened yet: this one must check that its port is free. */
  readonly isFirst: boolean;
  readonly modules: readonly string[];
  /** The configuration, with the chosen ports in place of 0. */
  readonly config: Config;
  readonly version: string;
}

export interface ReadyReport {
  /** The text to print once all processes are ready. */
  readonly banner: string;
  /** A successor can listen while this process still does. */
  readonly sharesPort: boolean;
}

/** Why a process could not start: one line, and the stack, which TANDEM_DEBUG=1 shows. */
export interface StartFailure {
  readonly message: string;
  readonly stack: string | undefined;
  /** The operating system's code (EADDRINUSE and others), where it refused something. */
  readonly code?: string | undefined;
}

/**
 * Figures that decide whether a process must be replaced. A process sends them regularly, which also shows that its main
 * thread is not stuck.
 */
export interface Figures {
  /** Threads stuck in native code. */
  readonly zombies: number;
  /** Resident memory of the whole process. */
  readonly rssBytes: number;
}

/** How a reload ended; `error` is one line. */
export type ReloadOutcome = { readonly changed: boolean } | { readonly error: string };

/** Messages from the supervisor to a server process. Signals are sent as signals of the operating system. */
export type ToServer =
  /** The process sends `key` with each of its messages, which tells them from whatever else reaches the channel. */
  | { readonly type: 'start'; readonly key: string; readonly order: StartOrder }
  | { readonly type: 'reload'; readonly id: number }
  | { readonly type: 'collect'; readonly id: number }
  | {
      readonly type: 'collection';
      readonly id: number;
      readonly snapshots: readonly MetricsSnapshot[];
    };

/** Messages from a server process to the supervisor. */
export type FromServer =
  | { readonly type: 'ready'; readonly report: ReadyReport }
  | { readonly type: 'failed'; readonly failure: StartFailure }
  | { readonly type: 'figures'; readonly figures: Figures }
  /** Every call is answered: only threads that have not ended keep the process alive. */
  | { readonly type: 'drained'; readonly snapshot: MetricsSnapshot | undefined }
  | { readonly type: 'reply'; readonly id: number; readonly value: unknown }
  | { readonly type: 'collect-all'; readonly id: number };
