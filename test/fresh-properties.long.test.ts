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
const few = [
  'test/openapi/query.test.ts',
  'test/router/schema/formats.test.ts',
  'test/router/schema/schema.test.ts',
  'test/router/schema/type-text.test.ts',
];
/** Of each file, how many times as many cases it gets here. */
const files: readonly (readonly [file: string, times: number])[] = [
  ['test/jsonrpc/read.long.test.ts', 2],
  ['test/router/schema/compare.long.test.ts', 2],
  ['test/pool/replica/params.long.test.ts', 2],
  ['test/router/schema/properties.long.test.ts', 6],
  ['test/router/schema/patterns.long.test.ts', 25],
  ...few.map((file) => [file, 10] as const),
];

describe(`properties with more cases, other ones each time (TANDEM_SEED=${seed})`, () => {
  for (const [file, times] of files) {
    test(file, async () => {
      const env = { ...userEnvironment(), TANDEM_SEED: seed, TANDEM_CASES: String(times) };
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
