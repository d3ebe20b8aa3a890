/** The files of docs/procedures.md, as they stand there: they have the right types, and their tests pass. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { startNode } from '../cli/process.ts';
import { temporaryFolder, typeErrors } from '../codegen/compile.ts';
import { moduleUrl, root } from '../files.ts';
import { fences, pathOf, read } from './pages.ts';

/** The blocks that are whole files: their first line names the file. */
const files = fences(read('docs/procedures.md')).flatMap(({ text }) => {
  const name = /^\/\/ ([\w.-]+\.ts)\n/.exec(text)?.[1];
  return name === undefined ? [] : [{ name, text }];
});
const names = files.map(({ name }) => name);

function project(t: TestContext): string {
  const folder = temporaryFolder(t);
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  return folder;
}

describe('the files of docs/procedures.md', () => {
  it('are there, and have the right types', (t) => {
    assert.deepEqual(names, ['users.ts', 'signed-in.ts', 'users.test.ts']);
    const paths = {
      'tandem-rpc': [pathOf('src/index.ts')],
      'tandem-rpc/client': [pathOf('src/client/index.ts')],
    };
    assert.equal(
      typeErrors(project(t), names, { types: ['node'], lib: ['es2023', 'es2024.string'], paths }),
      '',
    );
  });

  it('pass their own tests', async (t) => {
    const folder = project(t);
    const own = join(folder, 'node_modules/tandem-rpc');
    mkdirSync(own, { recursive: true });
    const exports = { '.': './index.js', './client': './client.js' };
    writeFileSync(join(own, 'package.json'), JSON.stringify({ type: 'module', exports }));
    for (const [name, source] of [
      ['index.js', 'src/index.ts'],
      ['client.js', 'src/client/index.ts'],
    ] as const) {
      writeFileSync(join(own, name), `export * from ${JSON.stringify(moduleUrl(source))};\n`);
    }
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const run = startNode(
      [
        '--import',
        pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href,
        '--test',
        join(folder, 'users.test.ts'),
      ],
      {
        NODE_TEST_CONTEXT: undefined,
      },
    );
    const { code, stdout } = await run.exit;
    assert.equal(code, 0, stdout);
    assert.match(stdout, /pass 2\n/);
  });
});
