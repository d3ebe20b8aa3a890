/** A text about a caught value. It may be of somebody else, so reading it may throw. */
export function textAbout(read: () => string): string {
  try {
    return read();
  } catch {
    return 'thrown, and it cannot be described: reading it throws';
  }
}

/** Most causes and errors within an error that are described. Two errors can be each other's cause. */
const maxCauses = 5;

/**
 * The stack of a caught value, for the log: it begins with the message. Those of its causes follow, and of the errors that an
 * AggregateError holds. A value without a stack gives its text. Never throws.
 */
export function stackOf(error: unknown): string {
  return textAbout(() => stacksOf(error));
}

function stacksOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const texts: string[] = [];
  const left: unknown[] = [error];
  while (left.length > 0 && texts.length <= maxCauses) {
    const next = left.shift();
    if (!(next instanceof Error)) continue;
    texts.push(withCode(next));
    const { errors } = next as { readonly errors?: unknown };
    // An error is described with what it holds and what caused it, before the error that follows it in a list.
    left.unshift(...(Array.isArray(errors) ? errors.slice(0, maxCauses) : []), next.cause);
  }
  return texts.join('\ncaused by: ');
}

/** The stack, with the error's code in its first line. */
function withCode(error: Error): string {
  const stack = String(error.stack ?? error);
  const { code } = error as { readonly code?: unknown };
  const [head = ''] = stack.split('\n', 1);
  if ((typeof code !== 'string' && typeof code !== 'number') || head.includes(String(code)))
    return stack;
  return `${head} [${code}]${stack.slice(head.length)}`;
}

/** The message of a caught value: what was thrown need not be an Error. Never a stack. Never throws. */
export function messageOf(error: unknown): string {
  return textAbout(() => String(error instanceof Error ? error.message : error));
}
