/** Thrown in place of `process.exit()` where it must not end the thread: while a module loads, and in a worker. */
export class ProcessExit extends Error {
  override readonly name = 'ProcessExit';
  /** As it was written, `process.exit(3)`. */
  readonly call: string;

  constructor(code: number | string | null | undefined) {
    const call = `process.exit(${code ?? ''})`;
    super(`it called ${call}`);
    this.call = call;
  }
}
