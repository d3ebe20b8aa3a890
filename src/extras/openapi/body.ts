import { ErrorCode } from '../../core/protocol/errors.ts';
import { readableBytes, readableText } from '../../core/protocol/exact.ts';
import { toSource } from '../../core/protocol/read.ts';
import { endOfValue, OPEN_BRACE, skipBlanks } from '../../core/protocol/syntax.ts';

/** JSON: text if it is small, else UTF-8 bytes. */
export type Json = string | Uint8Array;

export interface BodyFault {
  readonly code: typeof ErrorCode.ParseError | typeof ErrorCode.InvalidRequest;
  readonly reason: string;
}

const notJson: BodyFault = {
  code: ErrorCode.ParseError,
  reason: 'the body must be one JSON object in UTF-8: the params by their names',
};
const notObject: BodyFault = {
  code: ErrorCode.InvalidRequest,
  reason: 'the body must be a JSON object: the params by their names',
};

/**
 * The JSON-RPC request whose params are a body, to the letter. The body must be exactly one object: one such as
 * `{},"method":"other"` would end the params and go on with members of the request.
 *
 * @param head of the request, up to its params
 * @param maxDepth most levels of the params
 */
export function withBody(head: string, body: Json, maxDepth: number): Json | BodyFault {
  // Generated clients send the type with no body if all params are optional.
  if (body.length === 0) return `${head}{}}`;
  const json = toSource(body);
  if (json === undefined) return notJson;
  const { units, length } = typeof json === 'string' ? readableText(json) : readableBytes(json);
  const start = skipBlanks(units, 0, length);
  const end = endOfValue(units, start, length, maxDepth);
  if (end === -1 || skipBlanks(units, end, length) !== length) return notJson;
  if (units[start] !== OPEN_BRACE) return notObject;
  if (typeof json === 'string') return `${head}${json.slice(start, end)}}`;
  return Buffer.concat([Buffer.from(head), json.subarray(start, end), closing]);
}

const closing = Buffer.from('}');

export function isBodyFault(made: Json | BodyFault): made is BodyFault {
  return typeof made === 'object' && 'reason' in made;
}

/**
 * The JSON-RPC request whose params are the members of a query, and beside them a body of bytes.
 *
 * @param members JSON, without braces
 * @param bytesName the param that the bytes are; undefined: there are none
 */
export function withMembers(
  head: string,
  members: string,
  bytesName?: string,
  body: Json = '',
): string {
  if (bytesName === undefined) return `${head}{${members}}}`;
  const bytes = toBytes(body);
  const comma = members === '' ? '' : ',';
  return `${head}{${members}${comma}${JSON.stringify(bytesName)}:${bytesToJson(bytes)}}}`;
}

/** The bytes of a body: a parser of a framework may have made it a text. */
export function toBytes(body: Json): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/** Bytes of a body as a value of the params: base64, as JSON-RPC carries it. */
function bytesToJson(bytes: Uint8Array): string {
  return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`;
}

/** The bytes of a result. @param result JSON text of a string of base64, which has no escapes */
export function bytesFromJson(result: Json): Uint8Array {
  const text = typeof result === 'string' ? result : Buffer.from(result).toString('latin1');
  return Buffer.from(text.slice(1, -1), 'base64');
}
