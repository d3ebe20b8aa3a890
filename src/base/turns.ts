/** Looks at each item, `perTurn` of them in a turn of the event loop, so that nothing else waits for all of them. */
export async function inTurns<T>(
  items: Iterable<T>,
  perTurn: number,
  look: (item: T) => void,
): Promise<void> {
  let seen = 0;
  for (const item of items) {
    if (seen > 0 && seen % perTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    seen++;
    look(item);
  }
}
