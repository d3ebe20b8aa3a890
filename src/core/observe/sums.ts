import { isObject } from '../base/value-kinds.ts';

/** One for each key: the sum of all that have it. */
export function addByKey<Figures>(
  all: readonly Figures[],
  keyOf: (one: Figures) => string,
): Figures[] {
  const sums = new Map<string, Figures>();
  for (const one of all) {
    const key = keyOf(one);
    const before = sums.get(key);
    sums.set(key, before === undefined ? one : add(before, one));
  }
  return [...sums.values()];
}

/** The sum of two figures of one form: of numbers, of what lists and records hold of them. Texts are those of the first. */
export function add<Figures>(a: Figures, b: Figures): Figures {
  return sumOf(a, b) as Figures; // It has the form of both.
}

function sumOf(a: unknown, b: unknown): unknown {
  if (a === undefined || b === undefined) return a ?? b;
  if (typeof a === 'number') return a + (b as number);
  if (Array.isArray(a)) return a.map((one, index) => sumOf(one, (b as readonly unknown[])[index]));
  if (!isObject(a) || !isObject(b)) return a;
  return Object.fromEntries(
    Object.keys({ ...a, ...b }).map((name) => [name, sumOf(a[name], b[name])]),
  );
}
