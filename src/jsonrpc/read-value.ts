import {
  type Envelope,
  hasValidMembers,
  type InvalidEnvelope,
  invalidEnvelope,
  isId,
  isObject,
} from './envelope.ts';
import { type Body, batchRefusal, type ReadLimits } from './read.ts';

/** Reads a payload that somebody else has parsed. It is not JSON text, so ids are echoed by their value. */
export function readPayload(payload: unknown, limits: ReadLimits): Body {
  if (!Array.isArray(payload)) {
    return { kind: 'single', entry: readEntryValue(payload, limits.strict) };
  }
  const refusal = batchRefusal(payload.length, limits.maxBatch);
  if (refusal !== undefined) return { kind: 'reply', reply: refusal };
  // Array.from visits the holes of a sparse array too: each is answered as an invalid request.
  return {
    kind: 'batch',
    entries: Array.from(payload, (value) => readEntryValue(value, limits.strict)),
  };
}

function readEntryValue(value: unknown, strict: boolean): Envelope | InvalidEnvelope {
  if (!isObject(value)) return invalidEnvelope('null');
  const { id } = value;
  const idIsValid =
    id === undefined || (isId(id) && (typeof id !== 'number' || Number.isFinite(id)));
  const idText = id === undefined || !idIsValid ? undefined : JSON.stringify(id);
  if (!idIsValid || !hasValidMembers(value, strict)) return invalidEnvelope(idText ?? 'null');
  return {
    method: value['method'] as string,
    id: idText,
    params: value['params'],
    paramsStart: -1,
    paramsEnd: -1,
  };
}
