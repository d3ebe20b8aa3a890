import { clockMs } from '../../../core/base/clock.ts';
import { messageOf } from '../../../core/base/message-of.ts';
import type { Log } from '../../../core/observe/log.ts';
import {
  describedProcedure,
  type ProcedureDescription,
} from '../../../core/procedures/document/introspect.ts';
import type { Procedure } from '../../../core/procedures/types.ts';
import { headerOf, type NatsMessage, saysNobody } from '../connection/connection.ts';
import { contractOf, isNuid } from '../subjects.ts';
import { MalformedMessage } from '../wire.ts';
import type { GatewayLink } from './member-channel.ts';

/** A part of a document that has not come after so long is asked for again, milliseconds. */
const patienceMs = 1000;

/** After so many questions in a row without an answer another member is asked, for the whole. */
const maxUnanswered = 5;

/** Bytes of the longest document that is fetched: of some hundred thousand procedures. */
const longest = 256 * 1024 ** 2;

/** Bytes of all documents that are known or on their way. Of the longest, two: a new version is fetched beside the old one. */
const maxTotal = 2 * longest;

type Procedures = ReadonlyMap<string, Procedure>;

/** The contracts that members serve, by their names: those that are known, and those whose documents are on their way. */
export class Contracts {
  readonly #link: GatewayLink;
  readonly #log: Log;
  readonly #onKnown: () => void;
  readonly #known = new Map<string, { readonly procedures: Procedures; readonly bytes: number }>();
  readonly #fetches = new Map<string, DocumentFetch>();

  constructor(link: GatewayLink, log: Log, onKnown: () => void) {
    this.#link = link;
    this.#log = log;
    this.#onKnown = onKnown;
  }

  /** What members of a contract serve; undefined: it is being fetched, and `onKnown` is called when it has come. */
  proceduresOf(id: string): Procedures | undefined {
    const known = this.#known.get(id);
    if (known === undefined && !this.#fetches.has(id)) {
      let isRefused = false;
      const fetch = new DocumentFetch(this.#link, id, {
        hasRoom: (bytes) => {
          const hasRoom = this.#bytes() + bytes <= maxTotal;
          if (!hasRoom && !isRefused) {
            isRefused = true;
            this.#log.warn(
              { event: 'contract-refused', contract: id, bytes, most: maxTotal },
              'a contract is not fetched: with it the contracts of all members take more bytes than this gateway keeps',
            );
          }
          return hasRoom;
        },
        onProcedures: (procedures, bytes) => {
          this.#fetches.delete(id);
          this.#known.set(id, { procedures, bytes });
          this.#onKnown();
        },
      });
      this.#fetches.set(id, fetch);
      fetch.look(clockMs());
    }
    return known?.procedures;
  }

  #bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#known.values()) sum += bytes;
    for (const { bytes } of this.#fetches.values()) sum += bytes;
    return sum;
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

  look(now: number): void {
    for (const fetch of this.#fetches.values()) fetch.look(now);
  }

  close(): void {
    for (const fetch of this.#fetches.values()) fetch.close();
  }
}

interface FetchOwner {
  hasRoom(bytes: number): boolean;
  onProcedures(procedures: Procedures, bytes: number): void;
}

/**
 * Asks for the document of a contract, part by part, until the whole has come. The first member that answers gives all parts. The
 * whole is used only if it is what the name of the contract is a hash of.
 */
export class DocumentFetch {
  readonly #link: GatewayLink;
  readonly #contract: string;
  readonly #owner: FetchOwner;
  readonly #inbox: string;
  readonly #subscription: { unsubscribe(): void };
  #parts: Uint8Array[] = [];
  #from = 0;
  /** Bytes of the whole document, as the first part tells; 0: nobody has answered. */
  bytes = 0;
  /** Bytes of a document for which there was no room; 0: there was room. */
  #refused = 0;
  /** The member that gives the parts; undefined: nobody has answered. */
  #member: string | undefined;
  #unanswered = 0;
  /** When a part was asked for last, by `clockMs`. At first never: `clockMs` itself begins at 0. */
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(link: GatewayLink, contract: string, owner: FetchOwner) {
    const { connection } = link;
    this.#link = link;
    this.#contract = contract;
    this.#owner = owner;
    this.#inbox = `_INBOX.${connection.nuid()}`;
    const answers = `${this.#inbox}.*`;
    this.#subscription = connection.subscribe(answers, (message) => this.#onPart(message));
  }

  /** To be called every 100 ms, until the document is there. */
  look(now: number): void {
    if (now - this.#askedAt <= patienceMs) return;
    if (this.#unanswered >= maxUnanswered) this.#startOver();
    if (this.#refused > 0 && !this.#owner.hasRoom(this.#refused)) return;
    this.#refused = 0;
    this.#ask(now);
  }

  close(): void {
    this.#subscription.unsubscribe();
  }

  #ask(now: number): void {
    const from = JSON.stringify({ from: this.#from });
    // What was asked for twice may come twice: each answer says for which part it is.
    const reply = `${this.#inbox}.${this.#from}`;
    const { connection, subjects } = this.#link;
    const subject = subjects.document(this.#contract, this.#member);
    if (!connection.publish(subject, from, { reply })) return;
    this.#askedAt = now;
    this.#unanswered++;
  }

  #startOver(): void {
    this.#parts = [];
    this.#from = 0;
    this.bytes = 0;
    this.#member = undefined;
    this.#unanswered = 0;
  }

  #onPart(message: NatsMessage): void {
    if (saysNobody(message)) {
      // The member that gave the parts before has gone, or serves something else now.
      this.#startOver();
      return;
    }
    const total = Number(headerOf(message, 'tandem-total'));
    if (!(total > 0 && total <= longest)) return;
    // A member that has none of it would have none at once, either: it is asked again at a later look.
    if (message.data.byteLength === 0) return;
    if (message.subject !== `${this.#inbox}.${this.#from}`) return;
    const member = headerOf(message, 'tandem-member');
    if (!isNuid(member)) return;
    this.#member ??= member;
    if (member !== this.#member) return;
    if (this.#from === 0) {
      if (!this.#owner.hasRoom(total)) {
        this.#startOver();
        this.#refused = total;
        return;
      }
      this.bytes = total;
    }
    this.#unanswered = 0;
    this.#parts.push(new Uint8Array(message.data));
    this.#from += message.data.byteLength;
    if (this.#from < this.bytes) {
      this.#ask(clockMs());
      return;
    }
    const document = Buffer.concat(this.#parts);
    // If this throws, the document is fetched anew.
    this.#startOver();
    if (contractOf(document) !== this.#contract) {
      throw new MalformedMessage(
        `a document that is not the one of the contract ${this.#contract}`,
      );
    }
    const procedures = proceduresOf(document.toString());
    this.close();
    this.#owner.onProcedures(procedures, document.byteLength);
  }
}

function proceduresOf(text: string): Procedures {
  try {
    const descriptions = JSON.parse(text) as readonly ProcedureDescription[];
    return new Map(descriptions.map((each) => [each.name, describedProcedure(each)]));
  } catch (error) {
    throw new MalformedMessage(`no document of a contract: ${messageOf(error)}`);
  }
}

export interface KnownContract {
  readonly id: string;
  readonly version: string;
  readonly started: number;
  readonly procedures: Procedures;
}

/**
 * The procedures that members serve together. A name outlives the last member that had it for a while: a member that is restarted
 * beside others must not make its procedures unknown. Pure: it knows no clock.
 */
export class Catalog {
  readonly #keptMs: number;
  /** The same map until that changes. */
  procedures: Procedures = new Map();
  /** Since when names are kept that no member has any more; the first ones first. */
  readonly #goneSince = new Map<string, number>();

  /** @param keptMs milliseconds for which the name of a procedure that no member has is kept */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** Nobody is there to say what has gone: all names are kept. */
  hold(): void {
    this.#goneSince.clear();
  }

  /**
   * Members serve something else than before. Those that are silent may come back, so their names stay.
   *
   * @param live contracts of members that take calls; one at least
   * @returns whether the procedures are others now
   */
  update(live: readonly KnownContract[], silent: readonly KnownContract[], now: number): boolean {
    const next = new Map<string, Procedure>();
    const seen = new Set<string>();
    const newest = [...live.toSorted(newestFirst), ...silent.toSorted(newestFirst)];
    for (const { id, procedures } of newest) {
      // Members of one contract count once.
      if (seen.has(id)) continue;
      seen.add(id);
      for (const [name, procedure] of procedures) {
        if (!next.has(name)) next.set(name, procedure);
      }
    }
    for (const name of next.keys()) this.#goneSince.delete(name);
    for (const [name, procedure] of this.procedures) {
      if (next.has(name)) continue;
      if (!this.#goneSince.has(name)) this.#goneSince.set(name, now);
      next.set(name, procedure);
    }
    const before = this.procedures;
    const isSame =
      next.size === before.size && [...next].every(([name, one]) => before.get(name) === one);
    if (!isSame) this.procedures = next;
    return !isSame;
  }

  /**
   * @param listensSince the time counts from here at the earliest: before, members could not be heard
   * @returns whether names were forgotten
   */
  expire(now: number, listensSince: number): boolean {
    const over = new Set<string>();
    for (const [name, since] of this.#goneSince) {
      if (now - Math.max(since, listensSince) < this.#keptMs) break;
      this.#goneSince.delete(name);
      over.add(name);
    }
    if (over.size === 0) return false;
    this.procedures = new Map([...this.procedures].filter(([name]) => !over.has(name)));
    return true;
  }
}

/** Of contracts with the same name, the highest version describes it; of equal versions the one that was started last. */
function newestFirst(a: KnownContract, b: KnownContract): number {
  return compareVersions(b.version, a.version) || b.started - a.started;
}

/** By the rules of semver.org, except that two pre-releases are compared as texts. */
function compareVersions(a: string, b: string): number {
  const [one, other] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (one.numbers[i] ?? 0) - (other.numbers[i] ?? 0);
    if (difference !== 0) return difference;
  }
  if (one.pre === other.pre) return 0;
  if (one.pre === '' || other.pre === '') return one.pre === '' ? 1 : -1;
  return one.pre < other.pre ? -1 : 1;
}

function partsOf(version: string) {
  const [core = '', ...rest] = (version.split('+')[0] ?? '').split('-');
  return { numbers: core.split('.').map((text) => Number(text) || 0), pre: rest.join('-') };
}
