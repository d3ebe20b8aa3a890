import { ErrorCode } from './errors.ts';

/** Longest method name, and longest id: in characters (UTF-16 units of a string, a number as written). */
export const maxNameLength = 256;

/** Params that are not parsed yet, but known to be one JSON value where they stand. */
export const verified: unique symbol = Symbol('verified params');

/** Most members of a request. Four of them mean something; each of the others is looked at, too. */
export const maxMembers = 256;

/** A valid request: its envelope read, its params not yet looked at beyond their kind. */
export interface Envelope {
  readonly method: string;
  /** JSON text of the id, exactly as it was written; undefined: a notification. */
  readonly id: string | undefined;
  /** undefined (none), an object or an array; `verified` where only their place is known. */
  readonly params: unknown;
  /** Where the params stand in the body, -1 where there are none. */
  readonly paramsStart: number;
  readonly paramsEnd: number;
}

/** What can't be read as a request: it is answered, with its id if that is valid. */
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

/** Whether a parsed `id` member is one (null counts, absent does not come here). */
export function isId(id: unknown): id is string | number | null {
  if (typeof id === 'string') return id.length <= maxNameLength;
  return id === null || typeof id === 'number';
}

/** Whether jsonrpc, method and params of a parsed request are what they must be. */
export function hasValidMembers(request: Record<string, unknown>, strict: boolean): boolean {
  const { jsonrpc, method, params } = request;
  if (jsonrpc !== '2.0' && (strict || jsonrpc !== undefined)) return false;
  if (typeof method !== 'string' || method.length === 0 || method.length > maxNameLength)
    return false;
  return params === undefined || (typeof params === 'object' && params !== null);
}
