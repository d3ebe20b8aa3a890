import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

/**
 * A suite that starts a program which npm does not have. Without the program it is skipped; in CI that is a failure.
 *
 * @param needs what to install, as the reason that is printed
 */
export function describeWith(
  program: string | undefined,
  needs: string,
  name: string,
  body: (program: string) => void,
): void {
  if (program !== undefined) {
    describe(name, () => body(program));
  } else if ((process.env.CI ?? '') !== '') {
    test(name, () => assert.fail(needs));
  } else {
    describe(name, { skip: needs }, () => {});
  }
}
