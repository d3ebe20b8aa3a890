import type { TestContext } from 'node:test';

/**
 * Mocks `setTimeout` until the test ends. Timers from before can still be cleared. By itself Node's mock ignores them: `fetch` clears
 * those of a connection when it closes, and one that fires after that throws an error that no test catches.
 */
export function mockTimeouts({ mock }: TestContext): void {
  const { clearTimeout: clearReal } = globalThis;
  mock.timers.enable({ apis: ['setTimeout'] });
  const { clearTimeout: clearMocked } = globalThis;
  globalThis.clearTimeout = (timer) => {
    clearMocked(timer);
    clearReal(timer);
  };
}
