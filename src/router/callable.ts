import { RegistrationError } from './registration-error.ts';

/**
 * @param what is called: `the handler`, `a middleware`
 * @throws RegistrationError for what can't be called, or gives no single value
 */
export function assertCallable(value: unknown, where: string, what: string): void {
  if (typeof value !== 'function') {
    throw new RegistrationError(`${where}: ${what} must be a function, got ${shown(value)}`);
  }
  const kind = functionKind(value);
  if (kind === 'GeneratorFunction' || kind === 'AsyncGeneratorFunction') {
    throw new RegistrationError(
      `${where}: a generator function has no single result to answer with; return an array instead`,
    );
  }
  if (/^class\b/.test(Function.prototype.toString.call(value))) {
    throw new RegistrationError(`${where}: a class can't be called; give one of its methods`);
  }
}

export function isAsyncFunction(value: object): boolean {
  return functionKind(value) === 'AsyncFunction';
}

/** The function's tag. A function inherits it from its prototype, so a bound function has the tag of its target. */
function functionKind(value: object): unknown {
  return (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
}

/** A value in a message: short, never its members. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === null
    ? 'null'
    : Array.isArray(value)
      ? 'an array'
      : `a value of type ${typeof value}`;
}
