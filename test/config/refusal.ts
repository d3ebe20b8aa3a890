import assert from 'node:assert/strict';
import { StartupError } from '../../src/index.ts';

/** The message of the StartupError that `run` throws; one line. */
export function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof StartupError, `expected a StartupError, got ${String(error)}`);
    assert.doesNotMatch(error.message, /[\r\n]/);
    return error.message;
  }
  return assert.fail('expected a StartupError, nothing was thrown');
}
