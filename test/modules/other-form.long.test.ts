import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { compiledTree, treeVariable, userEnvironment } from '../compiled.ts';
import { isCompiled, root } from '../files.ts';

/** How modules are loaded differs with tsx and without: these tests run in the form that this run has not, too. */
const files = ['modules', 'reload', 'typescript'].map((name) => `test/modules/${name}.test.ts`);

for (const file of files) {
  test(`${file} ${isCompiled ? 'under tsx' : 'on node without tsx'}`, async () => {
    const copy = await compiledTree();
    const { status, output } = isCompiled
      ? await run(['--import', 'tsx', file], root, copy)
      : await run([file.replace(/\.ts$/, '.js')], copy, copy);
    assert.equal(status, 0, output);
    assert.match(output, /^# pass [1-9]|^ℹ pass [1-9]/m);
  });
}

function run(
  args: readonly string[],
  cwd: string,
  copy: string,
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      // Tests of what runs compiled in both forms need no second copy.
      env: { ...userEnvironment(), [treeVariable]: copy },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
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
