import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CommandLine } from '../cli/command-line.ts';
import { fixture, runCli } from '../cli/process.ts';
import { root, temporaryFolder } from '../files.ts';
import { callAll } from '../fixtures/codegen/caller.ts';
import { startApp } from '../harness.ts';
import { typeErrors } from './compile.ts';

const commands = CommandLine.suite();
const source = fixture('codegen/every-kind.ts');
const sourcePath = (name: string) => join(root, 'test/fixtures/codegen', name);
const ada = { id: '123e4567-e89b-42d3-a456-426614174000', name: 'Ada', born: null };
const tree = {
  value: 1,
  kids: [
    { value: 2, kids: [] },
    { value: 3, kids: [] },
  ],
};

/** What the handlers return for the calls of caller.ts. */
const returned = {
  scalars: ['a', 1.5, 2, true, null, { any: ['thing'] }, 'only', 'on-line'],
  optionals: [7, null, 1, 'y', 10],
  all: ['a', 1, { a: [1], b: [] }, 5],
  more: [
    '2024-02-29T12:00:00Z',
    null,
    { x: 1, y: 2 },
    false,
    -1,
    [1, -1],
    { here: { x: 0, y: 0 } },
    0,
    3,
  ],
  recursive: [
    {
      list: { head: 1, tail: { head: 2, tail: null } },
      other: null,
      team: { name: 'a', members: [{ name: 'b', boss: { name: 'c' } }] },
      user: ada,
    },
    2,
    'c',
  ],
  users: [ada, [ada]],
  trees: [6, tree],
  shapes: [6, { x: 1, y: 1 }],
  open: 2,
  bank: [70, 30, true],
  nothing: null,
  bare: ['any', 'other'],
};

describe('the contract goes round', () => {
  test('module, server, codegen, tsc, typed calls, results', async (t) => {
    const { url } = await startApp(t, { modules: [source] });
    const folder = temporaryFolder(t);
    const out = join(folder, 'api.ts');
    const written = await commands.run(['codegen', url, '--out', out]);
    assert.deepEqual(
      [written.code, written.stderr],
      [
        0,
        'tandem: 2 procedures have no `returns`: their results are neither projected nor checked: any_subscribe, bare\n',
      ],
    );
    // So that the next lines are about what was just generated.
    assert.equal(readFileSync(out, 'utf8'), readFileSync(sourcePath('api.ts'), 'utf8'));
    assert.equal(typeErrors(folder, [sourcePath('caller.ts')], { noEmit: true }), '');
    assert.deepEqual(await callAll(url), returned);

    // The module says the same as its server, to the letter.
    const checked = await commands.run(['codegen', source, '--out', out, '--check']);
    assert.deepEqual([checked.code, checked.stderr], [0, '']);
  });

  test('a change of the module is drift, and the diff names it', async (t) => {
    const folder = temporaryFolder(t);
    const [module, out] = [join(folder, 'procedures.ts'), join(folder, 'api.ts')];
    const text = readFileSync(sourcePath('every-kind.ts'), 'utf8');
    writeFileSync(module, text);
    assert.equal((await commands.run(['codegen', module, '--out', out])).code, 0);
    const changed = text.replace('amount: Type.Number()', 'amount: Type.String()');
    assert.notEqual(changed, text);
    writeFileSync(
      module,
      changed.replace('({ amount }, { errors })', '({ amount: _ }, { errors })'),
    );

    // In a process that has not loaded the module yet.
    const { code, stdout, stderr } = await runCli(['codegen', module, '--out', out, '--check']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^tandem: \S+api\.ts has drifted from \S+procedures\.ts: run tandem codegen .+\n$/,
    );
    assert.match(stdout, /^@@ -\d+,7 \+\d+,7 @@$/m);
    assert.match(stdout, /^- {4}params: \{ amount: number \};$/m);
    assert.match(stdout, /^\+ {4}params: \{ amount: string \};$/m);
  });
});
