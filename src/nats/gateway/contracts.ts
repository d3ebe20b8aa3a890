import { clockMs } from '../../base/clock.ts';
import type { Procedure } from '../../router/types.ts';
import type { NatsConnection } from '../connection/connection.ts';
import type { Subjects } from '../subjects.ts';
import { DocumentFetch } from './document-fetch.ts';

type Procedures = ReadonlyMap<string, Procedure>;

/** The contracts that members serve, by their fingerprints: those that are known, and those whose documents are on their way. */
export class Contracts {
  readonly #connection: NatsConnection;
  readonly #subjects: Subjects;
  readonly #onKnown: () => void;
  readonly #known = new Map<string, Procedures>();
  readonly #fetches = new Map<string, DocumentFetch>();

  /** @param onKnown called when another one is known */
  constructor(connection: NatsConnection, subjects: Subjects, onKnown: () => void) {
    this.#connection = connection;
    this.#subjects = subjects;
    this.#onKnown = onKnown;
  }

  /** What members of a contract serve; undefined: it was asked for, and `onKnown` will tell. */
  proceduresOf(id: string): Procedures | undefined {
    const procedures = this.#known.get(id);
    if (procedures === undefined && !this.#fetches.has(id)) this.#fetch(id);
    return procedures;
  }

  /** Forgets those that no member serves any more. */
  keep(used: ReadonlySet<string>): void {
    for (const id of this.#known.keys()) if (!used.has(id)) this.#known.delete(id);
    for (const [id, fetch] of this.#fetches) {
      if (used.has(id)) continue;
      fetch.close();
      this.#fetches.delete(id);
    }
  }

  /** To be called again and again. */
  look(now: number): void {
    for (const fetch of this.#fetches.values()) fetch.look(now);
  }

  close(): void {
    for (const fetch of this.#fetches.values()) fetch.close();
  }

  #fetch(id: string): void {
    const subject = this.#subjects.document(id);
    const fetch = new DocumentFetch(this.#connection, subject, (procedures) => {
      this.#fetches.delete(id);
      this.#known.set(id, procedures);
      this.#onKnown();
    });
    this.#fetches.set(id, fetch);
    fetch.look(clockMs());
  }
}
