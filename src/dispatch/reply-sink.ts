import type { Reply } from '../jsonrpc/reply.ts';

/**
 * Takes the reply of one call, in place of a promise. With a promise each caller on the way back adds a promise and a
 * microtask of its own, a tenth of what a small pooled call costs this thread.
 */
export interface ReplySink {
  /** Called once. Must not throw: it is called in the middle of other calls' results. */
  onReply(reply: Reply): void;
}

/** In place of a reply: the sink that was given along gets it later, never before this was returned. */
export const goesToSink: unique symbol = Symbol('the reply goes to the sink');
export type GoesToSink = typeof goesToSink;
