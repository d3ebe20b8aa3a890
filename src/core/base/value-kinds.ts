/** An object as JSON has it: no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What holds parts: an object or an array. */
export function holdsParts(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * Whether an object is a literal, a namespace of a module, or parsed: of no class. Its prototype has no prototype, or it has
 * none; so one of another realm is plain too.
 */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    prototype === Object.prototype ||
    prototype === null ||
    Object.getPrototypeOf(prototype) === null
  );
}

/** `typeof`, and the two types that JSON has beside. */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Whether `await` would wait for it. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  return typeof (value as { then?: unknown }).then === 'function';
}
