import { RegistrationError } from '../base/registration-error.ts';
import { shown } from '../base/text.ts';

const maxNameLength = 256;
const allowed = 'letters, digits and _ - . / :';

/**
 * Checks the name of a procedure: 1 to 256 letters, digits and `_ - . / :`, beginning with a letter or `_`, no
 * segment `__proto__`, not in the `rpc.` namespace that JSON-RPC 2.0 reserves.
 *
 * @throws RegistrationError
 */
export function assertName(name: unknown, where: string): asserts name is string {
  const fault = nameFault(name);
  if (fault !== undefined) throw new RegistrationError(`${where}: ${fault}`);
}

function nameFault(name: unknown): string | undefined {
  if (typeof name !== 'string') {
    return `a procedure's name must be a string, got ${name === null ? 'null' : typeof name}`;
  }
  if (name === '') return 'a procedure needs a name; give its function one, or the option name';
  if (name.length > maxNameLength) {
    return `a procedure's name has at most ${maxNameLength} characters, this one ${name.length}`;
  }
  const shown = JSON.stringify(name);
  if (!/^[A-Za-z_]/.test(name)) return `the name ${shown} must begin with a letter or _`;
  const odd = /[^A-Za-z0-9_\-./:]/u.exec(name);
  if (odd !== null) {
    return `the name ${shown} holds ${JSON.stringify(odd[0])} at position ${odd.index}; use ${allowed}`;
  }
  if (name.startsWith('rpc.')) {
    return `the name ${shown} is reserved: JSON-RPC 2.0 keeps rpc. for itself; choose another prefix`;
  }
  if (name.split(/[./:]/).includes('__proto__')) {
    return `the name ${shown} has a segment __proto__, which would reach a prototype; rename it`;
  }
  return undefined;
}

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
  return functionKind(value).startsWith('Async');
}

export function isGeneratorFunction(value: object): boolean {
  return functionKind(value).endsWith('GeneratorFunction');
}

/** The function's tag. A function inherits it from its prototype, so a bound function has the tag of its target. */
function functionKind(value: object): string {
  return String((value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag]);
}
