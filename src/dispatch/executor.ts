import type { Reply } from '../jsonrpc/reply.ts';
import type { Call } from './call.ts';

/** Somewhere calls run: this thread, worker threads. Nothing here throws or rejects. */
export interface Executor {
  /** Takes calls whose params are still `unparsed`: it parses them itself. */
  readonly takesUnparsed: boolean;
  /** Runs one call. Synchronous where the call was. */
  execute(call: Call): Reply | Promise<Reply>;
  /**
   * Runs calls one after another, each when the one before has ended; the replies in that order. Only
   * where something is saved by handing over several at a time.
   */
  executeInOrder?(calls: readonly Call[]): Reply[] | Promise<Reply[]>;
}

/**
 * Told of each call that ended with a result.
 *
 * @param us microseconds it held its thread
 */
export type RunObserver = (call: Call, us: number) => void;
