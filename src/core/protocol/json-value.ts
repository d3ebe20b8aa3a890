import { withArticle } from '../base/text.ts';
import { isPlain } from '../base/value-kinds.ts';

/** A value that nests deeper holds itself, or was made to exhaust the stack. */
const maxDepth = 64;

/**
 * The text of a JSON value: null, booleans, finite numbers, strings, arrays and plain objects of them. Members that
 * are undefined are left out, as JSON.stringify leaves them out.
 *
 * @param place names the value in the message
 * @throws TypeError that names the place of the part that is not a JSON value
 */
export function jsonTextOf(value: unknown, place: string): string {
  assertJson(value, place, 0);
  const text = JSON.stringify(value) as string | undefined;
  // Reached only by a value that changes between the check and here: a getter, a proxy.
  if (text === undefined) throw new TypeError(`${place} is what JSON cannot hold`);
  return text;
}

function assertJson(value: unknown, place: string, depth: number): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return;
    throw new TypeError(`${place} is ${value}, which JSON cannot hold`);
  }
  if (typeof value !== 'object') {
    throw new TypeError(`${place} is ${nameOf(value)}, which JSON cannot hold`);
  }
  if (depth === maxDepth) {
    throw new TypeError(`${place} is nested more than ${maxDepth} deep, or in a cycle`);
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) assertJson(value[i], `${place}[${i}]`, depth + 1);
    return;
  }
  if (!isPlain(value)) {
    throw new TypeError(
      `${place} is ${nameOf(value)}, not a plain object: take what you need of it`,
    );
  }
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) assertJson(member, `${place}.${name}`, depth + 1);
  }
}

function nameOf(value: unknown): string {
  if (value === undefined) return 'undefined';
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  const { name } = value.constructor;
  return name === '' ? 'an object of a class' : withArticle(name);
}
