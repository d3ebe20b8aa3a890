import assert from 'node:assert/strict';
import { StartupError } from '../src/index.ts';

/** The message of the StartupError that `run` throws; one line. */
export function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return messageOf(error);
  }
  return assert.fail('expected a StartupError, nothing was thrown');
}

/** The same of a promise that must reject. */
export async function refusalOf(started: Promise<unknown>): Promise<string> {
  return started.then(() => assert.fail('expected a StartupError, nothing was thrown'), messageOf);
}

function messageOf(error: unknown): string {
  assert.ok(error instanceof StartupError, `expected a StartupError, got ${String(error)}`);
  assert.doesNotMatch(error.message, /[\r\n]/);
  return error.message;
}
