/** A type of option: how it reads a value from text, checks it and writes it. */
export interface Kind<T> {
  /** The placeholder of the value in the help (`--port <number>`); undefined: an on/off switch. */
  readonly placeholder: string | undefined;
  /** What is allowed, as text to follow "expected". */
  readonly allowed: string;
  /** Whether `--no-x` is a flag too, though `--x` takes a value. */
  readonly hasNo?: boolean;
  /** Whether the flag may be repeated. */
  readonly repeatable: boolean;
  /** Reads the text of a flag or an environment variable. The value is not checked yet. */
  readonly fromText: (text: string) => unknown;
  /** The value in the form that the configuration holds; undefined: the value is not allowed. */
  readonly check: (value: unknown) => T | undefined;
  /** Which part of a value of several parts is not allowed. Without it the message shows the whole. */
  readonly faultOf?: (value: unknown) => Fault | undefined;
  /** Writes a value as a flag takes it. */
  readonly toText: (value: never) => string;
}

/** A part of a value that is not allowed. */
export interface Fault {
  /** Which part, as text to follow "expected". */
  readonly where: string;
  readonly allowed: string;
  readonly given: unknown;
}
