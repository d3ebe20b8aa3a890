/** What {@link assertNames} throws. */
export class UnknownOption extends TypeError {}

/**
 * Refuses an option that nobody knows, as the server does: it would be left out, and nobody would be told. It is called only
 * outside of production, so that a page carries none of it: bundlers write the value of NODE_ENV into the code, and leave out what
 * can't be reached. It is called within a `try`, since a browser has no `process`, and Deno may refuse to read its `env`:
 * nothing is checked there.
 *
 * @param names those that `where` takes
 * @throws UnknownOption
 */
export function assertNames(where: string, options: object, names: readonly string[]): void {
  for (const name of Object.keys(options)) {
    // The tests of the transports give `wait`.
    if (names.includes(name) || name === 'wait') continue;
    const near = names.find((known) => isNear(name.toLowerCase(), known.toLowerCase()));
    const all = names.length === 0 ? 'it takes none' : `it takes ${names.join(', ')}`;
    const hint = near === undefined ? all : `did you mean ${near}?`;
    throw new UnknownOption(`${where}: unknown option ${name}, ${hint}`);
  }
}

/**
 * Refuses a call that a server would refuse without saying why, or whose option would be left out. As {@link assertNames}, outside of
 * production only.
 *
 * @throws UnknownOption
 */
export function assertCall(method: string, params: unknown, own: object = {}): void {
  assertNames(method, own, ['signal', 'timeoutMs', 'retries', 'idempotent', 'reconnect']);
  if (params !== undefined && typeof params !== 'object') {
    throw new UnknownOption(
      `${method}: the params are one object, such as { name: value }, got a ${typeof params}`,
    );
  }
  for (const [name, value] of Object.entries(params ?? {})) {
    if (typeof value !== 'bigint' || 'toJSON' in Object(value)) continue;
    throw new UnknownOption(`${method}: JSON has no BigInt, as ${name} is: send String(${name})`);
  }
}

/** Whether at most two letters differ. The server's search for near names is in a file that pages do not load. */
function isNear(a: string, b: string): boolean {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const changed = (row[j] as number) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return (row.at(-1) as number) <= 2 && a.length > 2;
}
