import type { SyncAnswer } from '../session/gateway-session.ts';
import { cutter, numberOf, numbersOf, rest, split, withBytes } from './message.ts';

/**
 * The messages of a member to a gateway (docs/protocol.md, "Frames over NATS"):
 *
 *     {"s":1,"n":7,"got":5,"load":0,"r":[...]}\n{"jsonrpc":"2.0",...}{"jsonrpc":"2.0",...}
 */

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

/** Whether nothing more comes of a call, nor of its stream. */
export function isEnd(kind: ReplyKind): boolean {
  return kind !== ReplyKind.value && kind !== ReplyKind.opened;
}

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

const numbersPerReply = 5;

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

/** A part of a large reply. */
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
    const length = numbers[at + 4] as number;
    replies.push({
      ticket: numbers[at] as number,
      kind: numbers[at + 1] as ReplyKind,
      code: numbers[at + 2] as number,
      runUs: numbers[at + 3] as number,
      body: length === rest ? bytes : cut(length),
    });
  }
  return { kind: 'replies', mark, replies };
}
