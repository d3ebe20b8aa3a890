import { type Body, emptyBatch, type ReadLimits, tooLongBatch } from './body.ts';
import {
  type Envelope,
  hasValidMembers,
  type InvalidEnvelope,
  invalidEnvelope,
  isId,
  isObject,
} from './envelope.ts';

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
