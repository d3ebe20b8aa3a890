import { isUtf8 } from 'node:buffer';
import { endOfValue, skipBlanks } from '../../jsonrpc/exact/syntax.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import type { NatsHeaders } from '../connection/connection.ts';

const id = '1';
const resultHead = `{"jsonrpc":"2.0","id":${id},"result":`;
/** Characters of an error's message that a header holds, and the figures of an endpoint. The body has all of it. */
const maxMessage = 512;

const errorHead = /^\{"jsonrpc":"2\.0","id":(?:1|null),"error":/;

/** What a foreign client is sent: the result, or the error object with headers that say so. */
export interface ForeignAnswer {
  readonly data: Uint8Array | string;
  readonly headers?: NatsHeaders;
  /** Its code and message; undefined: a result. */
  readonly error?: string;
}

/** What stands around the params of a call, so that the whole is a JSON-RPC request. */
export interface RequestFrame {
  readonly call: Uint8Array;
  readonly notification: Uint8Array;
}

export function frameOf(procedure: string): RequestFrame {
  // Names are letters, digits and a few signs: none of them needs an escape.
  return {
    call: Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"${procedure}"`),
    notification: Buffer.from(`{"jsonrpc":"2.0","method":"${procedure}"`),
  };
}

const paramsHead = Buffer.from(',"params":');
const end = Buffer.from('}');

/**
 * The request that a payload stands for, in pieces; undefined: the payload is not one JSON value. It must be one: a text
 * that closes the params could go on with another method.
 */
export function requestPieces(
  head: Uint8Array,
  payload: Uint8Array,
  maxDepth: number,
): readonly Uint8Array[] | undefined {
  if (payload.byteLength === 0) return [head, end];
  const { byteLength } = payload;
  const stop = endOfValue(payload, skipBlanks(payload, 0, byteLength), byteLength, maxDepth);
  const isOne = stop !== -1 && skipBlanks(payload, stop, byteLength) === byteLength;
  return isOne && isUtf8(payload) ? [head, paramsHead, payload, end] : undefined;
}

/** @param reply of the request with the id of `frameOf` */
export function toForeign(reply: Reply): ForeignAnswer {
  if (reply === undefined) return { data: '' };
  if (typeof reply === 'string') {
    if (reply.startsWith(resultHead)) return { data: reply.slice(resultHead.length, -1) };
    return errorAnswer(reply.replace(errorHead, '').slice(0, -1));
  }
  const bytes = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
  const isResult = bytes.toString('latin1', 0, resultHead.length) === resultHead;
  return isResult ? { data: bytes.subarray(resultHead.length, -1) } : toForeign(bytes.toString());
}

/** How every error object begins that this package writes. Its data may be large, and is not parsed. */
const errorStart = /^\{"code":(-?\d+),"message":("(?:[^"\\]|\\.)*")/;

/** @param error JSON text of the error object */
export function errorAnswer(error: string): ForeignAnswer {
  const [, code = '0', message = '""'] = errorStart.exec(error) ?? [];
  const text = (JSON.parse(message) as string).slice(0, maxMessage);
  return {
    data: error,
    headers: [
      ['Nats-Service-Error-Code', code],
      ['Nats-Service-Error', text],
    ],
    error: `${code}:${text}`,
  };
}
