import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { userEnvironment } from './compiled.ts';
import { modulePath, nodeFlags } from './files.ts';

/** A new one each time, but where TANDEM_SEED repeats a run. */
const seed = process.env.TANDEM_SEED ?? String(randomInt(2 ** 31));

/** Their properties have few cases in `npm test`. */
const files = [
  'test/jsonrpc/read.long.test.ts',
  'test/router/schema/compare.long.test.ts',
  'test/pool/replica/params.long.test.ts',
  'test/router/schema/properties.test.ts',
];

describe(`properties with more cases, other ones each time (TANDEM_SEED=${seed})`, () => {
  for (const file of files) {
    test(file, async () => {
      const env = { ...userEnvironment(), TANDEM_SEED: seed, TANDEM_CASES: '2' };
      const args = [...nodeFlags, '--test-reporter=tap', modulePath(file)];
      const options = { env, maxBuffer: 2 ** 26 };
      const output = await promisify(execFile)(process.execPath, args, options).then(
        ({ stdout }) => stdout,
        (error: { readonly stdout: string }) => assert.fail(error.stdout),
      );
      assert.match(output, /^# pass [1-9]/m);
    });
  }
});
