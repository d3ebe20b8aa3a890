import { assertKept } from './result-fault.ts';

/**
 * The JSON text of a value of which nothing is declared.
 *
 * @throws ResultFault for a part of which JSON keeps nothing; TypeError for one that JSON can't hold
 */
export function keptText(value: unknown): string {
  const text = toJson(value);
  if (typeof value === 'object' && value !== null) assertKept(value, text);
  return text;
}

/** A procedure that returns nothing answers null. */
export function toJson(result: unknown): string {
  return result === undefined ? 'null' : jsonText(result, 'the result');
}

/** @throws TypeError for a value that JSON cannot hold, where JSON.stringify would write null or nothing */
export function jsonText(value: unknown, what: string): string {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return String(value);
    throw new TypeError(`${what} is ${value}, which JSON cannot hold`);
  }
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined)
    throw new TypeError(`${what} is a ${typeof value}, which JSON cannot hold`);
  return text;
}
