import type { BodyLease } from '../../dispatch/body-lease.ts';
import type { BodyMemory } from '../../dispatch/body-memory.ts';
import { type Call, textBetween, unparsed } from '../../dispatch/call.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { RequestFacts } from '../../procedures/lazy-context.ts';
import type { RawBytes } from '../../procedures/raw-bytes.ts';
import { largeBody, verified } from '../../protocol/body.ts';

/**
 * The calls of one message to a replica: all numbers in one array, all texts in one string. Cloning these two costs a
 * fraction of cloning an object, or an array item, for each field.
 *
 *     numbers   11 for each call
 *        0 ticket          1 flags         2 timeoutMs    3 expiresAt
 *        4 method length   5 id length     6 source length, 7 start, 8 end
 *        9 address length  10 none, or listed: five texts in `facts`
 *
 *     text      of each call, one call after another; as long as the numbers say
 *        method | id | source | address
 *
 * A length of -1 (`none`): the call has no such text. A source length of -2 - n (`listed` - n): the source is the
 * first n bytes of the next buffer in `shared`, which may be longer.
 */
export interface Frame {
  readonly type: 'frame';
  readonly numbers: Float64Array;
  readonly text: string;
  /** The sources that cross as shared bytes, in the order of their calls. */
  readonly shared: readonly SharedArrayBuffer[] | undefined;
  /** The bytes of params that did not come as JSON, in the order of their calls. */
  readonly attached: readonly Uint8Array[] | undefined;
  /** `textsPerFacts` texts for each call whose request has facts beyond an address, in the order of those calls. */
  readonly facts: readonly (string | undefined)[] | undefined;
}

/** A call of a frame, as the replica reads it. */
export interface FrameEntry {
  /** The call's name in the ledger and in its result. */
  readonly ticket: number;
  /** Whether this call begins only when the entry before it has ended (its predecessor in a batch). */
  readonly follows: boolean;
  /** Whether this call and the one before it run together: one run of their procedure's handler. */
  readonly joins: boolean;
  /** Whether this call is expected to be so short that the replica need not report earlier results before it. */
  readonly isShort: boolean;
  readonly showsFaults: boolean;
  readonly method: string;
  /** JSON text of the id; undefined for a notification. */
  readonly id: string | undefined;
  /** The text that holds the params (shared bytes if it is large); undefined: there are no params. */
  readonly source: string | Uint8Array | undefined;
  /** Where the params stand in `source`; `end` -1: the whole of `source` is the params. */
  readonly start: number;
  readonly end: number;
  /** Milliseconds the call may run. */
  readonly timeoutMs: number;
  /** When the caller stops waiting, by `clockMs` of the main thread; Infinity: never. */
  readonly expiresAt: number;
  readonly facts: RequestFacts | undefined;
  /** See `RawBytes`. The main thread may use their memory again when the call has ended. */
  readonly bytes: Uint8Array | undefined;
  readonly keepsBytes: boolean;
}

const numbersPerCall = 11;

/** Headers as JSON text, address, what is known of the caller as JSON text, traceparent, tracestate. */
const textsPerFacts = 5;

/** Bits of a call's second number. */
const Flag = {
  follows: 1,
  short: 2,
  showsFaults: 4,
  attached: 8,
  keepsBytes: 16,
  joins: 32,
} as const;

/** Instead of a length; see {@link Frame}. */
const none = -1;
const listed = -2;

/** Params of one call of a large body cross as text up to this many bytes, since few bytes are soon copied. */
const largestPiece = 4 * 1024;

/** Puts calls into a frame. Params stay as they came: small ones as text, large ones as bytes. */
export class FrameBuilder {
  count = 0;
  /** Kept from frame to frame, since pushing to a new array takes twice the time. */
  #numbers = new Float64Array(32 * numbersPerCall);
  #length = 0;
  #text = '';
  #shared: SharedArrayBuffer[] | undefined;
  #facts: (string | undefined)[] | undefined;
  #attached: Uint8Array[] | undefined;
  readonly #memory: BodyMemory;

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  /**
   * Puts a call in; for the parameters see {@link FrameEntry}. If this throws, the frame is unchanged.
   *
   * @returns the lease of the shared bytes that the replica will read the params from, held for the replica;
   *   undefined: no bytes are shared
   * @throws Error of a call that can't be put into text or shared memory: there is no memory, or the text is longer
   *   than a string can be
   */
  add(
    call: Call,
    ticket: number,
    follows: boolean,
    isShort: boolean,
    timeoutMs: number,
    joins = false,
  ): BodyLease | undefined {
    const { procedure, id, scope } = call;
    const length = this.#length;
    const text = this.#text;
    const shared = this.#shared?.length ?? 0;
    const facts = this.#facts?.length ?? 0;
    const attached = this.#attached?.length ?? 0;
    let lease: BodyLease | undefined;
    try {
      this.#text += procedure.name;
      if (id !== undefined) this.#text += id;
      this.#reserve();
      this.#put(ticket);
      const shown = scope.showsFaults ? Flag.showsFaults : 0;
      const raw = scope.rawBytes === undefined ? 0 : flagsOf(scope.rawBytes);
      const order = (follows ? Flag.follows : 0) | (joins ? Flag.joins : 0);
      this.#put(order | (isShort ? Flag.short : 0) | shown | raw);
      this.#put(timeoutMs);
      this.#put(scope.expiresAt);
      this.#put(procedure.name.length);
      this.#put(id === undefined ? none : id.length);
      lease = this.#addParams(call);
      this.#addFacts(call);
      const bytes = scope.rawBytes?.param;
      if (bytes !== undefined) lease = this.#attach(bytes, scope, lease);
    } catch (error) {
      this.#length = length;
      this.#text = text;
      this.#shared?.splice(shared);
      this.#facts?.splice(facts);
      this.#attached?.splice(attached);
      lease?.release();
      throw error;
    }
    this.count++;
    return lease;
  }

  /** Returns the frame and begins the next one. */
  take(): Frame {
    const frame: Frame = {
      type: 'frame',
      numbers: this.#numbers.slice(0, this.#length),
      text: this.#text,
      shared: this.#shared,
      facts: this.#facts,
      attached: this.#attached,
    };
    this.count = 0;
    this.#length = 0;
    this.#text = '';
    this.#shared = undefined;
    this.#facts = undefined;
    this.#attached = undefined;
    return frame;
  }

  #put(number: number): void {
    this.#numbers[this.#length++] = number;
  }

  #putPlace(length: number, start: number, end: number): void {
    this.#put(length);
    this.#put(start);
    this.#put(end);
  }

  #reserve(): void {
    if (this.#length + numbersPerCall <= this.#numbers.length) return;
    const larger = new Float64Array(this.#numbers.length * 2);
    larger.set(this.#numbers);
    this.#numbers = larger;
  }

  #addParams({ params, source, start, end, scope }: Call): BodyLease | undefined {
    if (params === undefined) {
      this.#putPlace(none, -1, -1);
      return undefined;
    }
    if (source === undefined) return this.#addText(JSON.stringify(params), -1, -1);
    if (typeof source !== 'string') {
      const { body } = scope;
      const isPart = params === verified;
      if (isPart && end - start <= largestPiece) {
        return this.#addText(textBetween(source, start, end), -1, -1);
      }
      const isLent = body !== undefined && body.bytes.buffer === source.buffer;
      if (isLent) return this.#addShared(body.hold(), start, end);
      return isPart
        ? this.#addShared(this.#memory.copy(source.subarray(start, end)), -1, -1)
        : this.#addShared(this.#memory.copy(source), start, end);
    }
    // The source is known to be JSON, so the params alone are enough. An unparsed source crosses whole.
    if (params !== unparsed) return this.#addText(source.slice(start, end), -1, -1);
    return this.#addText(source, start, end);
  }

  /**
   * Adds the source as text. What surrounds the params of an unparsed call is ASCII: the quick reader made sure of
   * it. A lone surrogate, which UTF-8 can't hold, can cross only in a string.
   */
  #addText(text: string, start: number, end: number): BodyLease | undefined {
    if (text.length <= largeBody || !text.isWellFormed()) {
      this.#text += text;
      this.#putPlace(text.length, start, end);
      return undefined;
    }
    const lease = this.#memory.copy(text);
    const { byteLength } = lease.bytes;
    return this.#addShared(lease, start, end === -1 ? -1 : byteLength - (text.length - end));
  }

  /**
   * Adds the source as shared bytes. They are not transferred: the main thread keeps them, so that a call which had
   * not started on a lost worker can be sent to another worker.
   */
  #addShared(lease: BodyLease, start: number, end: number): BodyLease {
    const { buffer, byteLength } = lease.bytes;
    this.#shared ??= [];
    this.#shared.push(buffer as unknown as SharedArrayBuffer);
    this.#putPlace(listed - byteLength, start, end);
    return lease;
  }

  /**
   * Adds the bytes of a param. Those of a large body lie in shared memory, and stay there for the reason that params do; others are
   * copied with the message.
   *
   * @param lease that the call has already
   */
  #attach(
    bytes: Uint8Array,
    { body }: RequestScope,
    lease: BodyLease | undefined,
  ): BodyLease | undefined {
    const isLent = lease === undefined && body !== undefined && body.bytes.buffer === bytes.buffer;
    this.#attached ??= [];
    this.#attached.push(isLent ? bytes : new Uint8Array(bytes));
    return isLent ? body.hold() : lease;
  }

  /** Nearly every call has an address alone, or nothing. What the procedure can't see is not even looked up. */
  #addFacts({ procedure, scope, trace }: Call): void {
    const isSeen = !procedure.ignoresContext;
    const headersText = isSeen ? scope.headersText : undefined;
    const remoteAddress = isSeen ? scope.remoteAddress : undefined;
    const authText = isSeen ? scope.authText : undefined;
    // The worker needs the span of a call in any case: what the handler calls is traced below it.
    const traced = trace ?? (isSeen ? scope : undefined);
    const traceparent = traced?.traceparent;
    const tracestate = traced?.tracestate;
    if (traceparent !== undefined || headersText !== undefined || authText !== undefined) {
      this.#facts ??= [];
      this.#facts.push(headersText, remoteAddress, authText, traceparent, tracestate);
      this.#put(none);
      this.#put(listed);
    } else {
      if (remoteAddress !== undefined) this.#text += remoteAddress;
      this.#put(remoteAddress === undefined ? none : remoteAddress.length);
      this.#put(none);
    }
  }
}

function flagsOf({ param, asResult }: RawBytes): number {
  return (param === undefined ? 0 : Flag.attached) | (asResult ? Flag.keepsBytes : 0);
}

/** The calls of a frame, in their order. */
export function readFrame({ numbers, text, shared, facts, attached }: Frame): FrameEntry[] {
  const entries: FrameEntry[] = [];
  let offset = 0;
  let nextShared = 0;
  let nextFacts = 0;
  let nextAttached = 0;
  const cut = (length: number): string => {
    const start = offset;
    offset += length;
    return text.slice(start, offset);
  };
  for (let at = 0; at < numbers.length; at += numbersPerCall) {
    const flags = numbers[at + 1] as number;
    const idLength = numbers[at + 5] as number;
    const sourceLength = numbers[at + 6] as number;
    const addressLength = numbers[at + 9] as number;
    const hasFacts = numbers[at + 10] === listed;
    const method = cut(numbers[at + 4] as number);
    const id = idLength === none ? undefined : cut(idLength);
    let source: string | Uint8Array | undefined;
    if (sourceLength <= listed) {
      source = new Uint8Array(sharedAt(shared, nextShared++), 0, listed - sourceLength);
    } else if (sourceLength !== none) source = cut(sourceLength);
    const address = addressLength === none ? undefined : { remoteAddress: cut(addressLength) };
    entries.push({
      ticket: numbers[at] as number,
      follows: (flags & Flag.follows) !== 0,
      joins: (flags & Flag.joins) !== 0,
      isShort: (flags & Flag.short) !== 0,
      showsFaults: (flags & Flag.showsFaults) !== 0,
      method,
      id,
      source,
      start: numbers[at + 7] as number,
      end: numbers[at + 8] as number,
      timeoutMs: numbers[at + 2] as number,
      expiresAt: numbers[at + 3] as number,
      bytes: (flags & Flag.attached) !== 0 ? attached?.[nextAttached++] : undefined,
      keepsBytes: (flags & Flag.keepsBytes) !== 0,
      facts: hasFacts ? new CrossedFacts(facts ?? [], textsPerFacts * nextFacts++) : address,
    });
  }
  return entries;
}

function sharedAt(shared: Frame['shared'], index: number): SharedArrayBuffer {
  const buffer = shared?.[index];
  if (buffer === undefined) throw new Error('a frame without the bytes that it names');
  return buffer;
}

/** The facts of one call. Each call has facts of its own: calls of one request share none. */
class CrossedFacts implements RequestFacts {
  readonly remoteAddress: string | undefined;
  readonly authText: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly #headersText: string | undefined;
  #headers: Readonly<Record<string, string>> | undefined;

  constructor(texts: readonly (string | undefined)[], at: number) {
    this.#headersText = texts[at];
    this.remoteAddress = texts[at + 1];
    this.authText = texts[at + 2];
    this.traceparent = texts[at + 3];
    this.tracestate = texts[at + 4];
  }

  get headers(): Readonly<Record<string, string>> | undefined {
    if (this.#headersText === undefined) return undefined;
    this.#headers ??= Object.freeze(JSON.parse(this.#headersText) as Record<string, string>);
    return this.#headers;
  }
}
