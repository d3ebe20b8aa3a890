/** Waiting for events that nothing else tells of. What never happens is ended by the runner. */

/** Everything that was ready has run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Lets a server of this process read what was written before: each turn of the event loop looks at the
 * sockets once, and the first one may be half over.
 */
export async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn();
}

/** Resolves when the condition holds, which other threads and processes may bring about. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** A promise and what settles it. */
export function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
