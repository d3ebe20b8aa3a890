import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { read } from '../docs/pages.ts';
import { CommandLine } from './command-line.ts';

describe('tandem init --add', () => {
  const commands = CommandLine.suite();
  let root = '';
  let count = 0;
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'tandem-add-'));
  });
  after(() => rmSync(root, { recursive: true }));

  /** A folder with these files. */
  function project(files: Readonly<Record<string, string>>): string {
    const folder = join(root, String(count++));
    mkdirSync(join(folder, 'src'), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    if (readdirSync(join(folder, 'src')).length === 0)
      rmSync(join(folder, 'src'), { recursive: true });
    return folder;
  }
  const add = (folder: string, ...more: string[]) =>
    commands.run(['init', '--add', folder, ...more]);
  const manifest = (folder: string) => readFileSync(join(folder, 'package.json'), 'utf8');

  /** The text of package.json afterwards, without the path of this copy, which the dependency has. */
  async function added(text: string): Promise<string> {
    const folder = project({ 'package.json': text });
    const { code, stderr } = await add(folder);
    assert.deepEqual([code, stderr], [0, '']);
    JSON.parse(manifest(folder).replace(/^\uFEFF/, ''));
    return manifest(folder).replace(/"file:[^"]+"/, '"^0.1.0"');
  }

  it('keeps the indentation, the order and the line ends of package.json', async () => {
    const before = [
      '{',
      '\t"version": "1.0.0",',
      '\t"name": "shop",',
      '\t"files": ["dist", "types"],',
      '\t"scripts": {',
      '\t\t"test": "vitest",',
      '\t\t"build": "echo \\"{\\""',
      '\t},',
      '\t"dependencies": {',
      '\t\t"express": "5",',
      '\t\t"zod": "4"',
      '\t}',
      '}',
      '',
    ];
    const after = [...before];
    after[6] += ',';
    after.splice(
      7,
      0,
      '\t\t"rpc": "tandem serve procedures.mjs",',
      '\t\t"rpc:dev": "tandem serve procedures.mjs --watch"',
    );
    after.splice(12, 0, '\t\t"tandem-rpc": "^0.1.0",');
    for (const line of ['\n', '\r\n']) {
      assert.equal(await added(before.join(line)), after.join(line));
    }
  });

  it('makes the lists that are missing, spaced as the file is', async () => {
    const scripts =
      '"scripts": {"rpc":"tandem serve procedures.mjs","rpc:dev":"tandem serve procedures.mjs --watch"}';
    const dependencies = '"dependencies": {"tandem-rpc":"^0.1.0"}';
    assert.equal(await added('{ "name": "a" }'), `{ "name": "a", ${dependencies}, ${scripts} }`);
    assert.equal(
      await added('{"name":"a"}'),
      `{"name":"a",${dependencies},${scripts}}`.replaceAll('": ', '":'),
    );
    const spread = (unit: string): string =>
      JSON.stringify(
        { name: 'a', ...(JSON.parse(`{${dependencies},${scripts}}`) as object) },
        undefined,
        unit,
      );
    for (const unit of ['  ', '    ', '\t']) {
      assert.equal(await added(JSON.stringify({ name: 'a' }, undefined, unit)), spread(unit));
      const empty = { name: 'a', dependencies: {}, scripts: {} };
      assert.equal(await added(JSON.stringify(empty, undefined, unit)), spread(unit));
    }
    assert.equal(await added('\uFEFF{}\n'), `\uFEFF${spread('  ').replace(/ {2}"name.*\n/, '')}\n`);
  });

  it('says what it did, and touches nothing else', async () => {
    const files = {
      'package.json': '{\n  "type": "module"\n}\n',
      'index.js': 'mine',
      'pnpm-lock.yaml': '',
    };
    const folder = project(files);
    const { code, stdout, stderr } = await add(folder);
    assert.deepEqual([code, stderr], [0, '']);
    const source = (JSON.parse(manifest(folder)) as { dependencies: Record<string, string> })
      .dependencies['tandem-rpc'];
    assert.deepEqual(stdout.split('\n').slice(0, 6), [
      `package.json: added the dependency tandem-rpc (${source})`,
      'package.json: added the script rpc: tandem serve procedures.js',
      'package.json: added the script rpc:dev: tandem serve procedures.js --watch',
      'wrote procedures.js',
      '',
      'Next:',
    ]);
    assert.match(stdout, /\n {2}pnpm install\n {2}pnpm run rpc:dev\n/);
    assert.deepEqual(readdirSync(folder).sort(), [...Object.keys(files), 'procedures.js'].sort());
    assert.equal(readFileSync(join(folder, 'index.js'), 'utf8'), 'mine');
  });

  it('prints what docs/codegen.md shows', async () => {
    const page = read('docs/codegen.md');
    const [, shown] = /\$ npx tandem init --add\n([\s\S]*?)```/.exec(page) ?? [];
    const folder = project({ 'package.json': '{}', 'tsconfig.json': '{}', 'src/x.ts': '' });
    const { stdout } = await add(folder);
    const here = stdout.replace(/\(file:.+\)/, '(^0.1.0)').replace(/^ {2}cd .+\n/m, '');
    assert.equal(here, shown);
  });

  it('has nothing to do the second time', async () => {
    const folder = project({ 'package.json': '{}', 'tsconfig.json': '{}', 'src/x.ts': '' });
    await add(folder);
    const before = manifest(folder);
    writeFileSync(join(folder, 'src/procedures.mts'), 'edited meanwhile');
    const { code, stdout } = await add(folder);
    assert.deepEqual(
      [code, stdout],
      [
        0,
        'nothing to do: package.json has tandem-rpc in dependencies, and src/procedures.mts is there\n',
      ],
    );
    assert.equal(manifest(folder), before);
    const edited = before.replace(/(tandem serve src\/procedures\.mts)(?=")/, '$1 --port 9000');
    assert.notEqual(edited, before);
    writeFileSync(join(folder, 'package.json'), edited);
    assert.deepEqual(await add(folder), { code, signal: null, stdout, stderr: '' });
    assert.equal(manifest(folder), edited);
    assert.equal(readFileSync(join(folder, 'src/procedures.mts'), 'utf8'), 'edited meanwhile');
  });

  it('chooses a file that is an ES module, TypeScript where the project is, with its types', async () => {
    const cases = [
      [{ 'package.json': '{"type":"module"}', 'tsconfig.json': '{}' }, 'procedures.ts'],
      [
        { 'package.json': '{"type":"commonjs","devDependencies":{"typescript":"7"}}' },
        'procedures.mts',
      ],
      [{ 'package.json': '{"type":"commonjs"}', 'src/x.js': '' }, 'src/procedures.mjs'],
    ] as const;
    for (const [files, module] of cases) {
      const folder = project(files);
      await add(folder);
      assert.ok(existsSync(join(folder, module)), module);
      const { scripts } = JSON.parse(manifest(folder)) as { scripts: Record<string, string> };
      const types = module.endsWith('ts') ? ` --codegen ${module.replace('.', '-api.')}` : '';
      assert.deepEqual(scripts, {
        rpc: `tandem serve ${module}`,
        'rpc:dev': `tandem serve ${module} --watch${types}`,
      });
    }
  });

  it('leaves the scripts that exist, and names them', async () => {
    const folder = project({ 'package.json': '{"scripts":{"rpc":"mine"}}' });
    const { stdout } = await add(folder);
    const left =
      'left as it is: the script rpc, which the project has already; instead run: npx tandem serve procedures.mjs\n';
    assert.ok(stdout.includes(left), stdout);
    const { scripts } = JSON.parse(manifest(folder)) as { scripts: Record<string, string> };
    assert.deepEqual(scripts, { rpc: 'mine', 'rpc:dev': 'tandem serve procedures.mjs --watch' });
    const again = await add(folder);
    assert.match(again.stdout, /^nothing to do: /);
    assert.ok(again.stdout.endsWith(left), again.stdout);
  });

  it('leaves a dependency that is there, in any list', async () => {
    const folder = project({ 'package.json': '{"devDependencies":{"tandem-rpc":"0.0.9"}}' });
    const { stdout } = await add(folder);
    assert.doesNotMatch(stdout, /added the dependency/);
    assert.match(manifest(folder), /^\{"devDependencies":\{"tandem-rpc":"0\.0\.9"\},"scripts":/);
  });

  describe('refuses in one line and writes nothing', () => {
    const refused: readonly [string, Readonly<Record<string, string>>, string[], RegExp][] = [
      ['without package.json', {}, [], /package\.json does not exist: run npm init -y first/],
      [
        'package.json that is not JSON',
        { 'package.json': '{"a":\n' },
        [],
        /package\.json is not JSON, and nothing was written: /,
      ],
      [
        'package.json with a mistake on a line of its own',
        { 'package.json': '{\n  "a": 1,\n  nope\n}\n' },
        [],
        /package\.json is not JSON, and nothing was written: /,
      ],
      ['package.json that is a list', { 'package.json': '[]' }, [], /is not a JSON object/],
      [
        'scripts that are no object',
        { 'package.json': '{"scripts":"x"}' },
        [],
        /scripts is not an object/,
      ],
      [
        'a project of the same name',
        { 'package.json': '{"name":"tandem-rpc"}' },
        [],
        /choose another name/,
      ],
      [
        'a file name that is taken',
        { 'package.json': '{}', 'procedures.mjs': 'mine' },
        [],
        /procedures\.mjs exists already, and nothing was written; choose another file: .+ --module rpc\.mjs$/m,
      ],
      [
        'a file of types that is not ours',
        { 'package.json': '{"type":"module"}', 'tsconfig.json': '{}', 'procedures-api.ts': 'mine' },
        [],
        /procedures-api\.ts exists already, and nothing was written; choose another file: /,
      ],
      [
        'a module above the project',
        { 'package.json': '{}' },
        ['--module', '../x.mjs'],
        /expected a path below the project/,
      ],
      [
        'a module of another kind',
        { 'package.json': '{}' },
        ['--module', 'x.json'],
        /ends in \.ts, \.mts, \.js or \.mjs/,
      ],
      [
        'a module that is CommonJS',
        { 'package.json': '{}' },
        ['--module', 'x.ts'],
        /would be CommonJS, .+ name it x\.mts$/m,
      ],
    ];
    for (const [title, files, flags, says] of refused) {
      it(title, async () => {
        const folder = project(files);
        const { code, stdout, stderr } = await add(folder, ...flags);
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(stderr, /^tandem: [^\n]+\n$/);
        assert.match(stderr, says);
        const now = readdirSync(folder).map((name) => [
          name,
          readFileSync(join(folder, name), 'utf8'),
        ]);
        assert.deepEqual(Object.fromEntries(now), files);
      });
    }
  });
});
