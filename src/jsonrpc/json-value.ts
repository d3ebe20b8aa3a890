/** Deeper is no data, but a cycle, or made to exhaust the stack. */
const maxDepth = 64;

/**
 * A deep copy of a JSON value, which nobody else holds: null, booleans, finite numbers, strings, arrays
 * and plain objects of them. Members that are undefined are left out, as JSON.stringify leaves them out.
 *
 * @param place names the value in the message
 * @throws TypeError that names the place of what is no JSON value
 */
export function copyJson(value: unknown, place: string, depth = 0): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    throw new TypeError(`${place} is ${value}, which JSON cannot hold`);
  }
  if (typeof value !== 'object') {
    throw new TypeError(`${place} is ${nameOf(value)}, which JSON cannot hold`);
  }
  if (depth === maxDepth) {
    throw new TypeError(`${place} is nested more than ${maxDepth} deep, or in a cycle`);
  }
  if (Array.isArray(value)) {
    return Array.from(value, (item: unknown, i) => copyJson(item, `${place}[${i}]`, depth + 1));
  }
  if (!isPlain(value)) {
    throw new TypeError(
      `${place} is ${nameOf(value)}, not a plain object: take what you need of it`,
    );
  }
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.map(([name, member]) => [name, copyJson(member, `${place}.${name}`, depth + 1)]),
  );
}

/** Of any realm: its prototype is the root of all objects, or there is none. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: unknown): string {
  if (value === undefined) return 'undefined';
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  const { name } = value.constructor;
  return name === '' ? 'an object of a class' : `a ${name}`;
}
