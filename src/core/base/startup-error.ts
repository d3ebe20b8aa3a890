/**
 * A mistake that keeps the service from starting, or a module from loading. The message says in one line what is
 * wrong, where (file and line when known) and what to do, so that it can be printed without a stack.
 */
export class StartupError extends Error {
  override readonly name: string = 'StartupError';
}
