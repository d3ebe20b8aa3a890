/** The stack of a caught value, for the log, which begins with its message; its text where it has none. */
export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** The message of a caught value: what was thrown need not be an Error. Never a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
