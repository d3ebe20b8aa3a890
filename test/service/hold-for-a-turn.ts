/** Holds this thread for longer than the work of one turn of the event loop may: src/core/dispatch/inline-turns.ts. */
export function holdForATurn(): void {
  const until = performance.now() + 11;
  while (performance.now() < until);
}
