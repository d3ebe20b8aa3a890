/** The message of a caught value: what was thrown need not be an Error. Never a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
