/** Text in, text out, in this process: all that a library does with a request except transporting it. */
export interface MicroSubject {
  /** Reads the envelope of a single call. Returns something, so that the engine can't leave the work out. */
  readonly envelope?: (text: string) => unknown;
  readonly one?: (text: string) => string | Promise<string>;
  readonly batch?: (text: string) => string | Promise<string>;
}
