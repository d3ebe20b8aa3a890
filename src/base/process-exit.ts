/** Thrown in place of `process.exit()` where it must not end the thread: while a module loads, and in a worker. */
export class ProcessExit extends Error {
  override readonly name = 'ProcessExit';
  readonly #isOne = true;
  /** As it was written, `process.exit(3)`. */
  readonly call: string;

  constructor(code: number | string | null | undefined) {
    const call = `process.exit(${code ?? ''})`;
    super(`it called ${call}`);
    this.call = call;
  }

  /** Of anything that was thrown: `instanceof` asks a proxy, which may throw. */
  static is(thrown: unknown): thrown is ProcessExit {
    return typeof thrown === 'object' && thrown !== null && #isOne in thrown && thrown.#isOne;
  }
}
