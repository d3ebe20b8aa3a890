import type { Config } from '../config/config.ts';
import type { MetricsSnapshot } from '../observe/snapshot.ts';

/** What a server process is to be. The first message it gets. */
export interface StartOrder {
  /** 1 to `of`; the successor of a process has its number. */
  readonly number: number;
  readonly of: number;
  /** No process of this supervisor has listened yet: this one makes sure of the port. */
  readonly isFirst: boolean;
  readonly modules: readonly string[];
  /** With the ports that were chosen, where 0 was asked for. */
  readonly config: Config;
  readonly version: string;
}

export interface ReadyReport {
  /** What a person is told once all processes are ready. */
  readonly banner: string;
  /** A successor can listen beside it. */
  readonly sharesPort: boolean;
}

/** Why a process could not start: one line, and the stack for who asks for it. */
export interface StartFailure {
  readonly message: string;
  readonly stack: string | undefined;
}

/** What may call for a successor. That they come shows that its main thread is not stuck. */
export interface Figures {
  /** Threads stuck in native code. */
  readonly zombies: number;
  /** Resident memory of the whole process. */
  readonly rssBytes: number;
}

/** How a reload ended; `error` is one line. */
export type ReloadOutcome = { readonly changed: boolean } | { readonly error: string };

/** From the supervisor to a server process. Signals go beside it, as the operating system's own. */
export type ToServer =
  /** `key` goes with each message back: by it they are told from what else reaches the channel. */
  | { readonly type: 'start'; readonly key: string; readonly order: StartOrder }
  | { readonly type: 'reload'; readonly id: number }
  | { readonly type: 'collect'; readonly id: number }
  | {
      readonly type: 'collection';
      readonly id: number;
      readonly snapshots: readonly MetricsSnapshot[];
    };

/** From a server process to the supervisor. */
export type FromServer =
  | { readonly type: 'ready'; readonly report: ReadyReport }
  | { readonly type: 'failed'; readonly failure: StartFailure }
  | { readonly type: 'figures'; readonly figures: Figures }
  /** Everything is answered: only its threads may still keep it. */
  | { readonly type: 'drained'; readonly snapshot: MetricsSnapshot | undefined }
  | { readonly type: 'reply'; readonly id: number; readonly value: unknown }
  | { readonly type: 'collect-all'; readonly id: number };
