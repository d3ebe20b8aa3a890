import { RegistrationError } from './registration-error.ts';

/**
 * @param what is called: `the handler`, `a middleware`
 * @throws RegistrationError for what can't be called, and for a generator function where one value is needed
 */
export function assertCallable(value: unknown, where: string, what: string): void {
  if (typeof value !== 'function') {
    throw new RegistrationError(`${where}: ${what} must be a function, got ${shown(value)}`);
  }
  if (isGeneratorFunction(value) && what !== theHandler) {
    throw new RegistrationError(`${where}: ${what} can't be a generator function`);
  }
  if (/^class\b/.test(Function.prototype.toString.call(value))) {
    throw new RegistrationError(`${where}: a class can't be called; give one of its methods`);
  }
}

/** What `assertCallable` calls the handler of a procedure, which may be a generator function: a stream. */
export const theHandler = 'the handler';

/** Whether its calls wait: an `async` function, or an `async` generator function. */
export function isAsyncFunction(value: object): boolean {
  const kind = functionKind(value);
  return kind === 'AsyncFunction' || kind === 'AsyncGeneratorFunction';
}

export function isGeneratorFunction(value: object): boolean {
  const kind = functionKind(value);
  return kind === 'GeneratorFunction' || kind === 'AsyncGeneratorFunction';
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
