import type { BodyLease, BodyMemory } from '../../dispatch/body-memory.ts';
import { type Call, textBetween, unparsed } from '../../dispatch/call.ts';
import { largeBody } from '../../jsonrpc/body.ts';
import { verified } from '../../jsonrpc/envelope.ts';
import { Flag, type Frame, listed, none, numbersPerCall } from './frame.ts';

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
  readonly #memory: BodyMemory;

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  /**
   * Puts a call in; for the parameters see {@link FrameEntry}. Where this throws, the frame is as it was before.
   *
   * @returns the lease of the shared bytes that the replica will read the params from, held for the replica;
   *   undefined where no bytes are shared
   * @throws Error of a call that can't be put into text or shared memory: there is no memory, or the text is longer
   *   than a string can be
   */
  add(
    call: Call,
    ticket: number,
    follows: boolean,
    isShort: boolean,
    timeoutMs: number,
  ): BodyLease | undefined {
    const length = this.#length;
    const text = this.#text;
    const shared = this.#shared?.length ?? 0;
    const facts = this.#facts?.length ?? 0;
    let lease: BodyLease | undefined;
    try {
      this.#addNames(call, ticket, follows, isShort, timeoutMs);
      lease = this.#addParams(call);
      this.#addFacts(call);
    } catch (error) {
      this.#length = length;
      this.#text = text;
      this.#shared?.splice(shared);
      this.#facts?.splice(facts);
      lease?.release();
      throw error;
    }
    this.count++;
    return lease;
  }

  #addNames(
    call: Call,
    ticket: number,
    follows: boolean,
    isShort: boolean,
    timeoutMs: number,
  ): void {
    const { procedure, id, scope } = call;
    this.#text += procedure.name;
    if (id !== undefined) this.#text += id;
    if (this.#length + numbersPerCall > this.#numbers.length) this.#grow();
    this.#put(ticket);
    this.#put((follows ? Flag.follows : 0) | (isShort ? Flag.short : 0));
    this.#put(timeoutMs);
    this.#put(scope.expiresAt);
    this.#put(procedure.name.length);
    this.#put(id === undefined ? none : id.length);
  }

  /** Returns the frame and begins the next one. */
  take(): Frame {
    const frame: Frame = {
      type: 'frame',
      numbers: this.#numbers.slice(0, this.#length),
      text: this.#text,
      shared: this.#shared,
      facts: this.#facts,
    };
    this.count = 0;
    this.#length = 0;
    this.#text = '';
    this.#shared = undefined;
    this.#facts = undefined;
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

  #grow(): void {
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
   * Adds the source as shared bytes. They are not transferred: the front end keeps them, so that a call which had not
   * started on a lost worker can be sent to another worker.
   */
  #addShared(lease: BodyLease, start: number, end: number): BodyLease {
    const { buffer, byteLength } = lease.bytes;
    this.#shared ??= [];
    this.#shared.push(buffer as unknown as SharedArrayBuffer);
    this.#putPlace(listed - byteLength, start, end);
    return lease;
  }

  /** Nearly every call has an address alone, or nothing. What the procedure can't see is not even looked up. */
  #addFacts({ procedure, scope, trace }: Call): void {
    const isSeen = !procedure.ignoresContext;
    const headersText = isSeen ? scope.headersText : undefined;
    const remoteAddress = isSeen ? scope.remoteAddress : undefined;
    const authText = isSeen ? scope.authText : undefined;
    // The span of a call is told to its worker in any case: what the handler calls is traced below it.
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
