import { ErrorCode } from './errors.ts';

/** Longest method name and longest id, in characters: UTF-16 units of a string, a number as it is written. */
export const maxNameLength = 256;

/** Stands for params that are not parsed yet, but are known to be one JSON value in the body. */
export const verified: unique symbol = Symbol('verified params');

/** Most members of a request. Only four members mean something, but reading each of the others takes time too. */
export const maxMembers = 256;

/** A valid request. Of its params only the kind (object or array) has been checked. */
export interface Envelope {
  readonly method: string;
  /** JSON text of the id, exactly as it was written; undefined: a notification. */
  readonly id: string | undefined;
  /** undefined (none), an object, an array, or `verified`: not parsed, see `paramsStart`. */
  readonly params: unknown;
  /** Where the params stand in the body, -1 where there are none. */
  readonly paramsStart: number;
  readonly paramsEnd: number;
}

/** An entry that is not a valid request. Its error reply has its id where the id is valid, else `null`. */
export interface InvalidEnvelope {
  readonly code: typeof ErrorCode.InvalidRequest;
  readonly id: string;
}

export function invalidEnvelope(id: string): InvalidEnvelope {
  return { code: ErrorCode.InvalidRequest, id };
}

export function isInvalid(entry: Envelope | InvalidEnvelope): entry is InvalidEnvelope {
  return 'code' in entry;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a parsed `id` member is a valid id. null is one. The caller handles an absent id. */
export function isId(id: unknown): id is string | number | null {
  if (typeof id === 'string') return id.length <= maxNameLength;
  return id === null || typeof id === 'number';
}

/** Whether jsonrpc, method and params of a parsed request are valid. */
export function hasValidMembers(request: Record<string, unknown>, strict: boolean): boolean {
  const { jsonrpc, method, params } = request;
  if (jsonrpc !== '2.0' && (strict || jsonrpc !== undefined)) return false;
  if (typeof method !== 'string' || method.length === 0 || method.length > maxNameLength)
    return false;
  return params === undefined || (typeof params === 'object' && params !== null);
}
