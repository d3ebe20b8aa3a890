import { clockMs } from '../../base/clock.ts';
import {
  describedProcedure,
  type ProcedureDescription,
} from '../../router/document/description.ts';
import type { Procedure } from '../../router/types.ts';
import type { NatsConnection, NatsMessage } from '../connection/connection.ts';

/** A part that has not come after so long is asked for again, milliseconds. */
const patienceMs = 1000;

/** Bytes of the longest document that is fetched: of some hundred thousand procedures. */
const longest = 256 * 1024 ** 2;

/**
 * Asks the members of a contract for its document, part by part, until the whole has come. Any of them may answer for a part, since
 * the contract's name is a hash of what it says.
 */
export class DocumentFetch {
  readonly #connection: NatsConnection;
  readonly #subject: string;
  readonly #onProcedures: (procedures: ReadonlyMap<string, Procedure>) => void;
  readonly #inbox: string;
  readonly #subscription: { unsubscribe(): void };
  #parts: Uint8Array[] = [];
  #from = 0;
  /** When a part was asked for last, by `clockMs`. At first never: `clockMs` itself begins at 0. */
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(
    connection: NatsConnection,
    subject: string,
    onProcedures: (procedures: ReadonlyMap<string, Procedure>) => void,
  ) {
    this.#connection = connection;
    this.#subject = subject;
    this.#onProcedures = onProcedures;
    this.#inbox = `_INBOX.${connection.nuid()}`;
    const answers = `${this.#inbox}.*`;
    this.#subscription = connection.subscribe(answers, (message) => this.#onPart(message));
  }

  /** To be called again and again, until the document is there. */
  look(now: number): void {
    if (now - this.#askedAt > patienceMs) this.#ask(now);
  }

  close(): void {
    this.#subscription.unsubscribe();
  }

  #ask(now: number): void {
    const from = JSON.stringify({ from: this.#from });
    // What was asked for twice may come twice: each answer says for which part it is.
    const reply = `${this.#inbox}.${this.#from}`;
    if (this.#connection.publish(this.#subject, from, { reply })) this.#askedAt = now;
  }

  #onPart(message: NatsMessage): void {
    const total = Number(message.header('Tandem-Total'));
    if (message.status !== 0 || !(total > 0 && total <= longest)) return;
    // A member that has none of it would have none at once, either: it is asked again at a later look.
    if (message.data.byteLength === 0) return;
    if (message.subject !== `${this.#inbox}.${this.#from}`) return;
    this.#parts.push(new Uint8Array(message.data));
    this.#from += message.data.byteLength;
    if (this.#from < total) {
      this.#ask(clockMs());
      return;
    }
    const text = Buffer.concat(this.#parts).toString();
    // Where this throws, it is fetched anew.
    this.#parts = [];
    this.#from = 0;
    const procedures = proceduresOf(text);
    this.close();
    this.#onProcedures(procedures);
  }
}

/** The document of a contract: what describes its procedures, in the order in which they were registered. */
function proceduresOf(text: string): ReadonlyMap<string, Procedure> {
  const descriptions = JSON.parse(text) as readonly ProcedureDescription[];
  return new Map(descriptions.map((each) => [each.name, describedProcedure(each)]));
}
