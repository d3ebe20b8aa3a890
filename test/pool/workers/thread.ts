import type { Ledger } from '../../../src/core/workers/wire/ledger.ts';
import type { ToReplica } from '../../../src/core/workers/wire/messages.ts';

/** A thread that does nothing but take what is posted to it. */
export function threadWith(ledger: Ledger, post: (message: ToReplica) => void = () => {}) {
  return { ledger, idleMs: 0, post, collect: () => {}, kill: () => {} };
}
