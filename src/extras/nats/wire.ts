import type { Ack, FrameMark, SyncAnswer, SyncRequest } from './session.ts';

/**
 * The messages between gateways and members (docs/protocol.md, "Frames over NATS"): a line of JSON, then texts or bytes.
 *
 *     to a member    {"g":"...","s":1,"n":7,"a":5,"c":[...],"f":[...]}\n{"jsonrpc":"2.0",...}{"jsonrpc":"2.0",...}
 *     to a gateway   {"s":1,"n":7,"got":5,"load":0,"r":[...]}\n{"jsonrpc":"2.0",...}{"jsonrpc":"2.0",...}
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

interface CallNumbers {
  readonly ticket: number;
  /** It begins when the call before it has ended. */
  readonly follows: boolean;
  /** Its caller reads a stream, if it opens one. */
  readonly isRead: boolean;
  /** Milliseconds until nobody waits for it; -1: none are known. */
  readonly timeoutMs: number;
  /** Milliseconds it may run, as its procedure says; -1: it does not say. */
  readonly runMs: number;
}

/** A call on its way to a member, without its body. */
export interface CallHead extends CallNumbers {
  /** JSON text of `WireFacts`. */
  readonly facts: string;
}

/** A call as it crosses: a whole JSON-RPC request, so that a member reads it as it reads any other. */
export interface WireCall extends CallNumbers {
  /** Bytes: it is alone in its frame, after the parts that came before. */
  readonly body: string | Uint8Array;
  readonly facts: WireFacts | undefined;
}

/** What is told beside calls. It has no number: what may be lost is said again. */
export interface Acknowledgement {
  readonly ack: Ack;
  /** Tickets of calls and streams that nobody waits for any more. */
  readonly cancelled: readonly number[];
  /** What streams may give, counted from their beginning: ticket, values and characters of each. */
  readonly granted: readonly number[];
  /** Tickets of streams that are to end at their next yield. */
  readonly drained: readonly number[];
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
  | ({ readonly kind: 'acknowledgement' } & Acknowledgement)
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
  /** The whole reply, or the text of a value or an end; '': there is none to send. Bytes: it is alone in its message, after the parts that came before. */
  readonly body: string | Uint8Array;
}

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

/** What came at a subject is no message of a gateway or a member. Anybody may have sent it. */
export class MalformedMessage extends Error {}

/** What the numbers of a call, or of a reply, take in the line of JSON, as UTF-16 units of three bytes. */
export const numbersLength = 24;

const [numbersPerCall, numbersPerReply] = [6, 5];

/** Bits of a call's second number. */
const Flag = { follows: 1, isRead: 2 } as const;

/** Instead of a length: the rest of the message, as bytes. */
const rest = -1;

export class FrameText {
  readonly #numbers: number[] = [];
  readonly #facts: string[] = [];
  #text = '';
  #headLength = 0;
  readonly tickets: number[] = [];

  /** All that it holds, UTF-16 units: three times as many bytes at most. */
  get length(): number {
    return this.#text.length + this.#headLength;
  }

  lengthWith({ facts }: CallHead, body: string): number {
    return this.length + body.length + this.#headLengthOf(facts);
  }

  /** @param body text: a large body has a frame of its own */
  add(call: CallHead, body: string): void {
    const { facts } = call;
    this.#headLength += this.#headLengthOf(facts);
    this.tickets.push(call.ticket);
    // Calls of one request come one after another, and share the text.
    if (this.#facts.at(-1) !== facts) this.#facts.push(facts);
    addNumbers(this.#numbers, call, this.#facts.length - 1, body.length);
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

/** A large call: the last part of its body. */
export function largeFrame(
  gateway: string,
  mark: FrameMark,
  call: CallHead,
  bytes: Uint8Array,
): Uint8Array {
  const numbers: number[] = [];
  addNumbers(numbers, call, 0, rest);
  return withBytes(headOfFrame(gateway, mark, numbers, [call.facts]), bytes);
}

function addNumbers(to: number[], call: CallHead, facts: number, length: number): void {
  const flags = (call.follows ? Flag.follows : 0) | (call.isRead ? Flag.isRead : 0);
  to.push(call.ticket, flags, call.timeoutMs, call.runMs, facts, length);
}

export function bodyPart(
  gateway: string,
  mark: FrameMark,
  ticket: number,
  total: number,
  bytes: Uint8Array,
): Uint8Array {
  return withBytes(`${headOfMark(gateway, mark)},"p":[${ticket},${total}]}`, bytes);
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

export function acknowledgementText(
  gateway: string,
  { ack, cancelled, granted, drained }: Acknowledgement,
): string {
  const told = `${listed('x', cancelled)}${listed('w', granted)}${listed('d', drained)}`;
  return `{"g":"${gateway}","s":${ack.session},"a":${ack.ack}${told}}`;
}

function listed(name: string, numbers: readonly number[]): string {
  return numbers.length === 0 ? '' : `,"${name}":[${numbers.join(',')}]`;
}

export function syncText(gateway: string, request: SyncRequest): string {
  const { epoch, session, have, next } = request;
  return `{"g":"${gateway}","sync":${epoch},"s":${session},"have":${have},"next":${next}}`;
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

export function replyPart(mark: ReplyMark, ticket: number, bytes: Uint8Array): Uint8Array {
  return withBytes(`${headOfReplies(mark)},"p":${ticket}}`, bytes);
}

function headOfReplies({ session, n, got, load }: ReplyMark): string {
  return `{"s":${session},"n":${n},"got":${got},"load":${load}`;
}

function withBytes(head: string, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${head}\n`), bytes]);
}

export function gotText(session: number, got: number): string {
  return `{"s":${session},"got":${got}}`;
}

export function syncedText({ epoch, session, got, from }: SyncAnswer): string {
  return `{"synced":${epoch},"s":${session},"got":${got},"from":${from}}`;
}

export const gapText = '{"gap":1}';

/** @throws MalformedMessage for what is no such message */
export function readToMember(data: Uint8Array): ToMember {
  const { head, bytes } = split(data);
  if (typeof head.g !== 'string')
    throw new MalformedMessage(`a text was expected, not ${typeof head.g}`);
  const gateway = head.g;
  const session = numberOf(head.s);
  if (head.sync !== undefined) {
    const [epoch, have, next] = [numberOf(head.sync), numberOf(head.have), numberOf(head.next)];
    return { gateway, kind: 'sync', request: { epoch, session, have, next } };
  }
  const ack = { session, ack: numberOf(head.a) };
  if (head.n === undefined) {
    const cancelled = numbersOf(head.x ?? []);
    const granted = numbersOf(head.w ?? []);
    const drained = numbersOf(head.d ?? []);
    return { gateway, kind: 'acknowledgement', ack, cancelled, granted, drained };
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
    const flags = numbers[at + 1] as number;
    calls.push({
      ticket: numbers[at] as number,
      follows: (flags & Flag.follows) !== 0,
      isRead: (flags & Flag.isRead) !== 0,
      timeoutMs: numbers[at + 2] as number,
      runMs: numbers[at + 3] as number,
      body: cut(numbers[at + 5] as number),
      facts: facts[numbers[at + 4] as number],
    });
  }
  return calls;
}

/** @throws MalformedMessage for what is no such message */
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
    replies.push({
      ticket: numbers[at] as number,
      kind: numbers[at + 1] as ReplyKind,
      code: numbers[at + 2] as number,
      runUs: numbers[at + 3] as number,
      body: cut(numbers[at + 4] as number),
    });
  }
  return { kind: 'replies', mark, replies };
}

type Head = Readonly<Record<string, unknown>>;

function split(data: Uint8Array): { readonly head: Head; readonly bytes: Uint8Array } {
  const newline = data.indexOf(10);
  const end = newline === -1 ? data.byteLength : newline;
  const head = jsonOf(data.subarray(0, end));
  if (typeof head !== 'object' || head === null) {
    throw new MalformedMessage('a message without a head');
  }
  return { head: head as Head, bytes: data.subarray(Math.min(end + 1, data.byteLength)) };
}

/** Cuts bodies off one after another. Lengths of texts are in UTF-16 units: the whole is decoded once. */
function cutter(bytes: Uint8Array): (length: number) => string | Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes;
  let text: string | undefined;
  let start = 0;
  return (length) => {
    if (length === rest) return bytes;
    text ??= Buffer.from(buffer, byteOffset, byteLength).toString();
    const cut = text.slice(start, start + length);
    if (cut.length !== length) throw new MalformedMessage('a message that ends before its texts');
    start += length;
    return cut;
  };
}

/** @throws MalformedMessage for what is no JSON, or longer than `most` bytes */
export function jsonOf(data: Uint8Array, most = Number.POSITIVE_INFINITY): unknown {
  const { buffer, byteOffset, byteLength } = data;
  if (byteLength > most) throw new MalformedMessage(`${byteLength} bytes, more than ${most}`);
  try {
    return JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString());
  } catch {
    throw new MalformedMessage('no JSON');
  }
}

export function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new MalformedMessage(`a number was expected, not ${typeof value}`);
}

function numbersOf(value: unknown): readonly number[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'number')) return value;
  throw new MalformedMessage('a list of numbers was expected');
}
