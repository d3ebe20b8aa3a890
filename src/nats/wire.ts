import type { Ack, FrameMark, SyncAnswer, SyncRequest } from './session/gateway-session.ts';

/**
 * The messages between a gateway and a member (docs/protocol.md, "Frames over NATS"): a line of JSON, then texts or bytes.
 *
 *     {"g":"...","s":1,"n":7,"a":5,"c":[...],"f":[...]}\n{"jsonrpc":"2.0",...}{"jsonrpc":"2.0",...}
 *
 * Lengths of texts are in UTF-16 units: the whole is decoded once, and cut.
 */

/** What a request is known by, beside its calls. Short names: they cross with nearly every call. */
export interface WireFacts {
  /** JSON text of what `authenticate` said. */
  readonly auth?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly ip?: string | undefined;
  readonly tp?: string | undefined;
  readonly ts?: string | undefined;
  /** The key by which calls are shared out among callers. */
  readonly key?: string | undefined;
}

/** A call as it crosses: a whole JSON-RPC request, so that a member reads it as it reads any other. */
export interface WireCall {
  readonly ticket: number;
  /** It begins when the call before it has ended. */
  readonly follows: boolean;
  /** Somebody reads it as a stream, where it is one. */
  readonly isRead: boolean;
  /** Milliseconds until nobody waits for it; -1: none are known. */
  readonly timeoutMs: number;
  /** Milliseconds it may run, as its procedure says; -1: it does not say. */
  readonly runMs: number;
  /** Bytes: it is alone in its frame, behind the parts that came before. */
  readonly body: string | Uint8Array;
  readonly facts: WireFacts | undefined;
}

export type ToMember = { readonly gateway: string } & (
  | { readonly kind: 'frame'; readonly mark: FrameMark; readonly calls: readonly WireCall[] }
  | {
      readonly kind: 'part';
      readonly mark: FrameMark;
      readonly ticket: number;
      /** Bytes of the whole body. */
      readonly total: number;
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: 'ack';
      readonly ack: Ack;
      readonly cancelled: readonly number[];
      /** What streams may give, all in all: three numbers each. */
      readonly granted: readonly number[];
    }
  | { readonly kind: 'sync'; readonly request: SyncRequest }
);

/**
 * What became of a call: it has ended; it has not run; its reply was given up. Or of its stream: it has opened; a value; its end, with a
 * result or with an error.
 */
export const ReplyKind = {
  final: 0,
  value: 1,
  notRun: 2,
  lost: 3,
  opened: 4,
  ended: 5,
  failed: 6,
} as const;
export type ReplyKind = (typeof ReplyKind)[keyof typeof ReplyKind];

export interface WireReply {
  readonly ticket: number;
  readonly kind: ReplyKind;
  /** Of its error; 0: a result. */
  readonly code: number;
  /** Microseconds in its handler; see `CallObserver`. */
  readonly runUs: number;
  /** The whole reply, or the text of a value or an end; '': there is none to send. Bytes: it is alone in its message, behind the parts that came before. */
  readonly body: string | Uint8Array;
}

/** How a message with replies is marked. */
export interface ReplyMark {
  readonly session: number;
  readonly n: number;
  /** The last frame that was taken. */
  readonly got: number;
  /** Calls that the member has of others. */
  readonly load: number;
}

export type ToGateway =
  | { readonly kind: 'replies'; readonly mark: ReplyMark; readonly replies: readonly WireReply[] }
  | {
      readonly kind: 'part';
      readonly mark: ReplyMark;
      readonly ticket: number;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'got'; readonly session: number; readonly got: number }
  | { readonly kind: 'synced'; readonly answer: SyncAnswer }
  | { readonly kind: 'gap' };

/** In place of a length: the rest of the message, as bytes. */
const rest = -1;

const numbersPerCall = 6;
const numbersPerReply = 5;

/** What the numbers of a call, or of a reply, take in the line of JSON, as UTF-16 units of three bytes. */
export const numbersLength = 24;

/** A call on its way to a member, without its body. */
export interface CallHead extends Omit<WireCall, 'body' | 'facts'> {
  /** JSON text of `WireFacts`. */
  readonly facts: string;
}

/** Gathers small calls for one frame. */
export class FrameText {
  readonly #numbers: number[] = [];
  readonly #tickets: number[] = [];
  readonly #facts: string[] = [];
  #text = '';
  #headLength = 0;

  /** All that it holds, UTF-16 units: three times as many bytes at most. */
  get length(): number {
    return this.#text.length + this.#headLength;
  }

  get tickets(): readonly number[] {
    return this.#tickets;
  }

  /** How long it would be with one call more. */
  lengthWith({ facts }: CallHead, body: string): number {
    return this.length + body.length + this.#headLengthOf(facts);
  }

  /** @param body text: a large body has a frame of its own */
  add(call: CallHead, body: string): void {
    const { ticket, timeoutMs, runMs, facts } = call;
    this.#headLength += this.#headLengthOf(facts);
    this.#tickets.push(ticket);
    // Calls of one request come one after another, and share the text.
    if (this.#facts.at(-1) !== facts) this.#facts.push(facts);
    const of = this.#facts.length - 1;
    this.#numbers.push(ticket, flagsOf(call), timeoutMs, runMs, of, body.length);
    this.#text += body;
  }

  /** The frame without its mark, which is joined when it leaves: it costs a few bytes more. */
  toMessage(gateway: string, mark: FrameMark): Uint8Array {
    return Buffer.from(`${headOfFrame(gateway, mark, this.#numbers, this.#facts)}\n${this.#text}`);
  }

  #headLengthOf(facts: string): number {
    return numbersLength + (this.#facts.at(-1) === facts ? 0 : facts.length);
  }
}

/** Bits of a call's second number. */
const Flag = { follows: 1, isRead: 2 } as const;

function flagsOf({ follows, isRead }: CallHead): number {
  return (follows ? Flag.follows : 0) | (isRead ? Flag.isRead : 0);
}

function headOfFrame(
  gateway: string,
  mark: FrameMark,
  numbers: readonly number[],
  facts: readonly string[],
): string {
  return `${headOfMark(gateway, mark)},"c":[${numbers.join(',')}],"f":[${facts.join(',')}]}`;
}

function headOfMark(gateway: string, { session, n, ack }: FrameMark): string {
  return `{"g":"${gateway}","s":${session},"n":${n},"a":${ack}`;
}

/** A large call: the last stretch of its body, behind the parts. */
export function largeFrame(
  gateway: string,
  mark: FrameMark,
  call: CallHead,
  bytes: Uint8Array,
): Uint8Array {
  const { ticket, timeoutMs, runMs, facts } = call;
  const numbers = [ticket, flagsOf(call), timeoutMs, runMs, 0, rest];
  return withBytes(headOfFrame(gateway, mark, numbers, [facts]), bytes);
}

/** A stretch of a large body. */
export function bodyPart(
  gateway: string,
  mark: FrameMark,
  ticket: number,
  total: number,
  bytes: Uint8Array,
): Uint8Array {
  return withBytes(`${headOfMark(gateway, mark)},"p":[${ticket},${total}]}`, bytes);
}

/** @param granted what streams may give, all in all: ticket, values and characters of each */
export function ackText(
  gateway: string,
  { session, ack }: Ack,
  cancelled: readonly number[],
  granted: readonly number[] = [],
): string {
  const left = cancelled.length === 0 ? '' : `,"x":[${cancelled.join(',')}]`;
  const given = granted.length === 0 ? '' : `,"w":[${granted.join(',')}]`;
  return `{"g":"${gateway}","s":${session},"a":${ack}${left}${given}}`;
}

export function syncText(gateway: string, request: SyncRequest): string {
  const { epoch, session, have, next } = request;
  return `{"g":"${gateway}","sync":${epoch},"s":${session},"have":${have},"next":${next}}`;
}

/** @throws Error for what is no such message */
export function readToMember(data: Uint8Array): ToMember {
  const { head, bytes } = split(data);
  const gateway = textOf(head.g);
  if (head.sync !== undefined) {
    const [epoch, session] = [numberOf(head.sync), numberOf(head.s)];
    const request = { epoch, session, have: numberOf(head.have), next: numberOf(head.next) };
    return { gateway, kind: 'sync', request };
  }
  const ack = { session: numberOf(head.s), ack: numberOf(head.a) };
  if (head.n === undefined) {
    const cancelled = head.x === undefined ? [] : numbersOf(head.x);
    const granted = head.w === undefined ? [] : numbersOf(head.w);
    return { gateway, kind: 'ack', ack, cancelled, granted };
  }
  const mark = { ...ack, n: numberOf(head.n) };
  if (head.p !== undefined) {
    const [ticket = -1, total = -1] = numbersOf(head.p);
    return { gateway, kind: 'part', mark, ticket, total, bytes };
  }
  return { gateway, kind: 'frame', mark, calls: readCalls(head, bytes) };
}

function readCalls(head: Head, bytes: Uint8Array): WireCall[] {
  const numbers = numbersOf(head.c);
  const facts = (head.f ?? []) as readonly WireFacts[];
  const cut = cutter(bytes);
  const calls: WireCall[] = [];
  for (let at = 0; at + numbersPerCall <= numbers.length; at += numbersPerCall) {
    const [ticket, flags, timeoutMs, runMs, of, length] = numbers.slice(at) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const follows = (flags & Flag.follows) !== 0;
    const isRead = (flags & Flag.isRead) !== 0;
    const body = length === rest ? bytes : cut(length);
    calls.push({ ticket, follows, isRead, timeoutMs, runMs, body, facts: facts[of] });
  }
  return calls;
}

/** Replies as one message; the reply that has bytes is the only one. */
export function repliesMessage(mark: ReplyMark, replies: readonly WireReply[]): Uint8Array {
  const numbers: number[] = [];
  let texts = '';
  let bytes: Uint8Array | undefined;
  for (const { ticket, kind, code, runUs, body } of replies) {
    const isText = typeof body === 'string';
    numbers.push(ticket, kind, code, Math.round(runUs), isText ? body.length : rest);
    if (isText) texts += body;
    else bytes = body;
  }
  const head = `${headOfReplies(mark)},"r":[${numbers.join(',')}]}`;
  return bytes === undefined ? Buffer.from(`${head}\n${texts}`) : withBytes(head, bytes);
}

/** A stretch of a large reply. */
export function replyPart(mark: ReplyMark, ticket: number, bytes: Uint8Array): Uint8Array {
  return withBytes(`${headOfReplies(mark)},"p":${ticket}}`, bytes);
}

function headOfReplies({ session, n, got, load }: ReplyMark): string {
  return `{"s":${session},"n":${n},"got":${got},"load":${load}`;
}

export function gotText(session: number, got: number): string {
  return `{"s":${session},"got":${got}}`;
}

export function syncedText({ epoch, session, got, from }: SyncAnswer): string {
  return `{"synced":${epoch},"s":${session},"got":${got},"from":${from}}`;
}

export const gapText = '{"gap":1}';

/** @throws Error for what is no such message */
export function readToGateway(data: Uint8Array): ToGateway {
  const { head, bytes } = split(data);
  if (head.gap !== undefined) return { kind: 'gap' };
  const [session, got] = [numberOf(head.s), numberOf(head.got)];
  if (head.synced !== undefined) {
    const answer = { epoch: numberOf(head.synced), session, got, from: numberOf(head.from) };
    return { kind: 'synced', answer };
  }
  if (head.n === undefined) return { kind: 'got', session, got };
  const mark = { session, n: numberOf(head.n), got, load: numberOf(head.load) };
  if (head.p !== undefined) return { kind: 'part', mark, ticket: numberOf(head.p), bytes };
  const numbers = numbersOf(head.r);
  const cut = cutter(bytes);
  const replies: WireReply[] = [];
  for (let at = 0; at + numbersPerReply <= numbers.length; at += numbersPerReply) {
    const [ticket, kind, code, runUs, length] = numbers.slice(at) as [
      number,
      ReplyKind,
      number,
      number,
      number,
    ];
    replies.push({ ticket, kind, code, runUs, body: length === rest ? bytes : cut(length) });
  }
  return { kind: 'replies', mark, replies };
}

type Head = Readonly<Record<string, unknown>>;

const newline = 10;

function split(data: Uint8Array): { readonly head: Head; readonly bytes: Uint8Array } {
  const at = data.indexOf(newline);
  const end = at === -1 ? data.byteLength : at;
  const { buffer, byteOffset } = data;
  const head: unknown = JSON.parse(Buffer.from(buffer, byteOffset, end).toString());
  if (typeof head !== 'object' || head === null) throw new Error('a message without a head');
  return { head: head as Head, bytes: data.subarray(Math.min(end + 1, data.byteLength)) };
}

function cutter({ buffer, byteOffset, byteLength }: Uint8Array): (length: number) => string {
  let text: string | undefined;
  let start = 0;
  return (length) => {
    text ??= Buffer.from(buffer, byteOffset, byteLength).toString();
    const cut = text.slice(start, start + length);
    if (cut.length !== length) throw new Error('a message that ends before its texts');
    start += length;
    return cut;
  };
}

function withBytes(head: string, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${head}\n`), bytes]);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Error(`a text was expected, not ${typeof value}`);
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new Error(`a number was expected, not ${typeof value}`);
}

function numbersOf(value: unknown): readonly number[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'number')) return value;
  throw new Error('a list of numbers was expected');
}
