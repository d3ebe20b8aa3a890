import { RunQueue } from '../../dispatch/streams/run-queue.ts';
import {
  type RunContext,
  type RunOutlet,
  type RunSource,
  StreamRun,
} from '../../dispatch/streams/stream-run.ts';
import { type ErrorCode, standardError } from '../../jsonrpc/errors.ts';
import type { Outcome } from '../../jsonrpc/reply.ts';
import type { Ledger } from '../wire/ledger.ts';
import type { StreamCommand } from '../wire/messages.ts';
import { ItemKind } from '../wire/stream-item.ts';
import type { Postbox } from './postbox.ts';

/** The generators of a worker's thread. Each is named by the ticket of the call that has opened its stream. */
export class StreamRuns {
  readonly #postbox: Postbox;
  readonly #maxValueBytes: number;
  readonly #queue: RunQueue;
  readonly #runs = new Map<number, StreamRun>();
  #isInTurn = false;
  #isTelling = false;

  /**
   * @param maxValueBytes UTF-8 bytes of one value
   * @param behindMs how far the front end's `clockMs` is ahead of this thread's
   * @param onTurnEnd called after each slice
   */
  constructor(
    postbox: Postbox,
    ledger: Ledger,
    maxValueBytes: number,
    behindMs: number,
    onTurnEnd: () => void,
  ) {
    this.#postbox = postbox;
    this.#maxValueBytes = maxValueBytes;
    const watch = {
      enter: ({ ticket }: { readonly ticket: number }, now: number): void => {
        this.#isInTurn = true;
        ledger.enterStretch(ticket, now + behindMs);
      },
      leave: (): void => {
        this.#isInTurn = false;
        ledger.leave();
      },
    };
    this.#queue = new RunQueue(watch, () => {
      postbox.tell();
      onTurnEnd();
    });
  }

  /**
   * Opens a stream: the handler of a call has given an iterator. The iterator is asked for nothing before the front end
   * grants credit.
   */
  open(ticket: number, source: RunSource, context: RunContext): void {
    let items = 0;
    const put = (kind: number, code: number, text: string): void => {
      this.#postbox.item(ticket, kind, code, items++, text);
      this.#tellLater();
    };
    const outlet: RunOutlet = {
      value: (text) => put(ItemKind.value, 0, text),
      end: ({ ok, code, text }: Outcome) => put(ok ? ItemKind.result : ItemKind.error, code, text),
      closed: () => {
        this.#runs.delete(ticket);
        put(ItemKind.closed, 0, '');
      },
    };
    const run = new StreamRun(source, context, outlet, this.#maxValueBytes, this.#queue, ticket);
    this.#runs.set(ticket, run);
  }

  /** Commands for a stream that is over are ignored. */
  obey(command: StreamCommand): void {
    switch (command.type) {
      case 'grant':
        for (let i = 0; i < command.grants.length; i += 3) {
          const [ticket = 0, values = 0, characters = 0] = command.grants.slice(i, i + 3);
          this.#runs.get(ticket)?.grant(values, characters);
        }
        break;
      case 'cancel':
        this.#runs.get(command.ticket)?.cancel(reasonOf(command));
        break;
      case 'drain':
        this.#runs.get(command.ticket)?.drain(reasonOf(command));
        break;
    }
  }

  /**
   * Tells the front end at the end of the run queue's turn; outside of one, at the end of this turn of the event loop.
   */
  #tellLater(): void {
    if (this.#isInTurn || this.#isTelling) return;
    this.#isTelling = true;
    setImmediate(() => {
      this.#isTelling = false;
      this.#postbox.tell();
    });
  }
}

function reasonOf({ code, data }: Extract<StreamCommand, { readonly code: number }>) {
  return standardError(code as ErrorCode, data);
}
