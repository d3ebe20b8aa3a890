/** Text in, text out, in this process: what a library does with a request besides carrying it. */
export interface MicroSubject {
  /** Reads a single call's envelope. Gives something, so that the work can't be left out. */
  readonly envelope?: (text: string) => unknown;
  readonly one?: (text: string) => string | Promise<string>;
  readonly batch?: (text: string) => string | Promise<string>;
}
