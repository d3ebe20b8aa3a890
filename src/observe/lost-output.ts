let lost = 0;

/** Something that was written to stdout or stderr did not arrive, and never will. */
export function noteLostOutput(): void {
  lost++;
}

/** How many writes of this process were lost, in its life. */
export function lostOutput(): number {
  return lost;
}
