let lost = 0;

/** Counts a write to stdout or stderr that was lost. */
export function noteLostOutput(): void {
  lost++;
}

/** How many writes were lost since this process started. */
export function lostOutput(): number {
  return lost;
}
