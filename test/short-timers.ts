/**
 * Resolves when every timer of 1 ms that was set before has fired: timers fire in the order of their times. A delay that
 * is too long for setTimeout is one of 1 ms.
 */
export function shortTimersHaveFired(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}
