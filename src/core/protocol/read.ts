import { isUtf8 } from 'node:buffer';
import {
  type Body,
  type Envelope,
  emptyBatch,
  hasValidMembers,
  type InvalidEnvelope,
  invalidEnvelope,
  isId,
  isObject,
  largeBatch,
  type ReadLimits,
  tooLongBatch,
  unreadableBody,
} from './body.ts';
import { readableBytes, readableText, readExactly } from './exact.ts';
import { scanBatch } from './quick-batch.ts';

/**
 * Who reads a body, and why:
 *
 *     file           reads                        called by              why it exists
 *     quick          one call, params untouched   the kernel             the usual body: no parse at all,
 *                                                                        a large one through two windows
 *     quick-batch    a batch of plain requests    readBody               one JSON.parse for all params: half of the
 *                                                                        CPU time of the exact reader
 *     exact          any body, text or bytes      readBody, readBytes    decides everything that the quick
 *                                                                        readers leave, and every refusal
 *     readPayload    a parsed payload             the kernel             a caller within the program
 *
 * A quick reader returns undefined for whatever is unusual. So only the exact reader decides which error a caller gets.
 */

/** A byte order mark is not JSON: the decoder keeps it in the text, and the readers refuse it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of UTF-8 bytes; undefined where they are not UTF-8, instead of a silent replacement character. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    // One crossing into C++. A check and Buffer's toString would be two, and take three times as long for small bodies.
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Reads a whole body: no call of it runs before all of it is known to be JSON. */
export function readBody(text: string, limits: ReadLimits): Body {
  // The quick reader parses the params of all calls here. The params of a large batch are parsed where each call runs.
  const entries = text.length <= largeBatch ? scanBatch(text, limits) : undefined;
  if (entries !== undefined) return { kind: 'batch', entries };
  return readExactly(readableText(text), limits);
}

/** Reads a whole body from its UTF-8 bytes: decoding a large body into a text takes longer than reading its bytes. */
export function readBytes(bytes: Uint8Array, limits: ReadLimits): Body {
  return isUtf8(bytes) ? readExactly(readableBytes(bytes), limits) : unreadableBody();
}

/**
 * Reads a payload that the caller has parsed already. There is no JSON text, so a reply writes the id's value.
 * The payload may be any object that code can make: one that throws while it is read is an invalid request.
 */
export function readPayload(payload: unknown, limits: ReadLimits): Body {
  try {
    return readValue(payload, limits);
  } catch {
    return { kind: 'single', entry: invalidEnvelope('null') };
  }
}

function readValue(payload: unknown, limits: ReadLimits): Body {
  if (!Array.isArray(payload)) {
    return { kind: 'single', entry: readSafely(payload, limits.strict) };
  }
  if (payload.length === 0) return emptyBatch();
  if (payload.length > limits.maxBatch) return tooLongBatch(limits.maxBatch);
  // Array.from visits the holes of a sparse array too, so each hole is answered as an invalid request.
  return {
    kind: 'batch',
    entries: Array.from(payload, (value) => readSafely(value, limits.strict)),
  };
}

function readSafely(value: unknown, strict: boolean): Envelope | InvalidEnvelope {
  try {
    return readEntryValue(value, strict);
  } catch {
    return invalidEnvelope('null');
  }
}

function readEntryValue(value: unknown, strict: boolean): Envelope | InvalidEnvelope {
  if (!isObject(value)) return invalidEnvelope('null');
  // Each member is read once: a getter could return another value the second time.
  const { jsonrpc, id, method, params } = value;
  const idIsValid =
    id === undefined || (isId(id) && (typeof id !== 'number' || Number.isFinite(id)));
  const idText = id === undefined || !idIsValid ? undefined : JSON.stringify(id);
  if (!idIsValid || !hasValidMembers({ jsonrpc, method, params }, strict))
    return invalidEnvelope(idText ?? 'null');
  return {
    method: method as string,
    id: idText,
    params,
    paramsStart: -1,
    paramsEnd: -1,
  };
}
