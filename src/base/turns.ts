/** Looks at each item, `perTurn` of them in a turn of the event loop, so that nothing else waits for all of them. */
export async function inTurns<T>(
  items: Iterable<T>,
  perTurn: number,
  look: (item: T) => void,
): Promise<void> {
  let seen = 0;
  for (const item of items) {
    if (seen > 0 && seen % perTurn === 0) await nextTurn();
    seen++;
    look(item);
  }
}

/**
 * Runs work to its end that yields wherever it may pause: what lies between two pauses runs in a turn of the event loop of its
 * own. Work that never pauses gives its result at once.
 */
export function withPauses<T>(work: Iterator<void, T>): T | Promise<T> {
  const first = work.next();
  return first.done === true ? first.value : restOf(work);
}

async function restOf<T>(work: Iterator<void, T>): Promise<T> {
  for (;;) {
    await nextTurn();
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
