import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { compiledTree, userEnvironment } from '../compiled.ts';
import { isCompiled, root } from '../files.ts';

/**
 * Runs a test file once more in the form that this run has not: how modules are loaded differs with tsx and
 * without.
 *
 * @param file relative to the repository's folder
 */
export function testInOtherForm(file: string): void {
  // The marker of the second run: it runs no third.
  if (process.env.TEST_OTHER_FORM !== undefined) return;
  test(`all of this ${isCompiled ? 'under tsx' : 'on node without tsx'}`, async () => {
    const { status, output } = isCompiled
      ? await run(['--import', 'tsx', file], root)
      : await run([file.replace(/\.ts$/, '.js')], compiledTree());
    assert.equal(status, 0, output);
    assert.match(output, /^# pass [1-9]|^ℹ pass [1-9]/m);
  });
}

function run(
  args: readonly string[],
  cwd: string,
): Promise<{ status: number | null; output: string }> {
  const env = { ...userEnvironment(), TEST_OTHER_FORM: 'other' };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, output }));
  });
}
