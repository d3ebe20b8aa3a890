/** The files of docs/procedures.md, as they stand there: they have the right types. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { typeErrors } from '../codegen/compile.ts';
import { temporaryFolder } from '../files.ts';
import { fences, pathOf, read } from './pages.ts';

/** The blocks that are whole files: their first line names the file. */
const files = fences(read('docs/procedures.md')).flatMap(({ text }) => {
  const name = /^\/\/ ([\w.-]+\.ts)\n/.exec(text)?.[1];
  return name === undefined ? [] : [{ name, text }];
});
const names = files.map(({ name }) => name);

describe('the files of docs/procedures.md', () => {
  it('are there, and have the right types', (t) => {
    assert.deepEqual(names, ['users.ts', 'signed-in.ts']);
    const paths = {
      'tandem-rpc': [pathOf('src/index.ts')],
      'tandem-rpc/client': [pathOf('src/client/index.ts')],
    };
    const folder = temporaryFolder(t);
    for (const { name, text } of files) writeFileSync(join(folder, name), text);
    assert.equal(
      typeErrors(folder, names, { types: ['node'], lib: ['es2023', 'es2024.string'], paths }),
      '',
    );
  });
});
