/** The stack of a caught value, for the log: it begins with the message. A value without a stack gives its text. */
export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** The message of a caught value: what was thrown need not be an Error. Never a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
