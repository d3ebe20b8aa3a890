import type { Ack, FrameMark, SyncRequest } from '../session/gateway-session.ts';
import {
  cutter,
  type Head,
  numberOf,
  numbersLength,
  numbersOf,
  rest,
  split,
  textOf,
  withBytes,
} from './message.ts';

/**
 * The messages of a gateway to a member (docs/protocol.md, "Frames over NATS"):
 *
 *     {"g":"...","s":1,"n":7,"a":5,"c":[...],"f":[...]}\n{"jsonrpc":"2.0",...}{"jsonrpc":"2.0",...}
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
  | { readonly kind: 'acknowledgement'; readonly acknowledgement: Acknowledgement }
  | { readonly kind: 'sync'; readonly request: SyncRequest }
);

const numbersPerCall = 6;

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

/** A large call: the last part of its body, behind the others. */
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

/** A part of a large body. */
export function bodyPart(
  gateway: string,
  mark: FrameMark,
  ticket: number,
  total: number,
  bytes: Uint8Array,
): Uint8Array {
  return withBytes(`${headOfMark(gateway, mark)},"p":[${ticket},${total}]}`, bytes);
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
    const [cancelled, granted, drained] = [listOf(head.x), listOf(head.w), listOf(head.d)];
    return {
      gateway,
      kind: 'acknowledgement',
      acknowledgement: { ack, cancelled, granted, drained },
    };
  }
  const mark = { ...ack, n: numberOf(head.n) };
  if (head.p !== undefined) {
    const [ticket = -1, total = -1] = numbersOf(head.p);
    return { gateway, kind: 'part', mark, ticket, total, bytes };
  }
  return { gateway, kind: 'frame', mark, calls: readCalls(head, bytes) };
}

function listOf(value: unknown): readonly number[] {
  return value === undefined ? [] : numbersOf(value);
}

function readCalls(head: Head, bytes: Uint8Array): WireCall[] {
  const numbers = numbersOf(head.c);
  const facts = (head.f ?? []) as readonly WireFacts[];
  const cut = cutter(bytes);
  const calls: WireCall[] = [];
  for (let at = 0; at + numbersPerCall <= numbers.length; at += numbersPerCall) {
    const flags = numbers[at + 1] as number;
    const length = numbers[at + 5] as number;
    calls.push({
      ticket: numbers[at] as number,
      follows: (flags & Flag.follows) !== 0,
      isRead: (flags & Flag.isRead) !== 0,
      timeoutMs: numbers[at + 2] as number,
      runMs: numbers[at + 3] as number,
      body: length === rest ? bytes : cut(length),
      facts: facts[numbers[at + 4] as number],
    });
  }
  return calls;
}
