/**
 * The programs of docs/coming-from.md that need packages and compiler options of their own: NestJS is compiled and called,
 * Encore is compiled (its own program runs it), and the settings of Watt are held against the schema of its package.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { Running } from '../cli/process.ts';
import { temporaryFolder } from '../codegen/compile.ts';
import { describeWith } from '../describe-with.ts';
import { isReachable } from '../examples/registry.ts';
import { root } from '../files.ts';
import { suiteLifetime } from '../harness.ts';
import { fences, read } from './pages.ts';

const run = promisify(execFile);
const page = fences(read('docs/coming-from.md'));
const compiler = join(root, 'node_modules/typescript/bin/tsc');
const npm = (await isReachable()) ? 'npm' : undefined;

/** The block that names this file. */
function program(name: string): string {
  const found = page.find(
    ({ language, text }) => language === 'typescript' && text.startsWith(`// ${name}\n`),
  );
  return found?.text ?? assert.fail(`no ${name}`);
}

describeWith(npm, "needs npm's registry", 'docs/coming-from.md', () => {
  const folder = temporaryFolder(suiteLifetime());
  const compile = (name: string, options: readonly string[]) =>
    run(
      process.execPath,
      [compiler, '--ignoreConfig', '--target', 'es2022', '--strict', ...options, name],
      {
        cwd: folder,
      },
    ).catch(({ stdout }: { stdout: string }) => assert.fail(stdout));
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];

  before(async () => {
    cpSync(join(root, 'test/docs/coming-from'), folder, { recursive: true });
    await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder });
    for (const name of ['on-nest.ts', 'on-encore.ts'])
      writeFileSync(join(folder, name), program(name));
  });

  describe('NestJS', () => {
    test('answers, and refuses what its pipe refuses', async (t) => {
      const decorators = ['--experimentalDecorators', '--emitDecoratorMetadata'];
      await compile('on-nest.ts', [
        '--module',
        'nodenext',
        '--skipLibCheck',
        ...decorators,
        ...types,
      ]);
      const env = { ...process.env, PORT: '0' };
      const running = new Running(spawn(process.execPath, ['on-nest.js'], { cwd: folder, env }));
      t.after(async () => {
        running.child.kill('SIGKILL');
        await running.exit;
      });
      const [, url = ''] = await running.seen('stdout', /listening on (\S+)/);
      const post = (path: string, body: object) =>
        fetch(new URL(path, url), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      assert.equal(await (await post('/greet', { name: 'Ada' })).text(), 'Hello, Ada!');
      assert.match(
        await (await post('/hash', { password: 'long enough' })).text(),
        /^[\da-f]{64}$/,
      );
      assert.equal((await post('/hash', { password: 'short' })).status, 400);
    });
  });

  test('Encore: the endpoints compile', async () => {
    await compile('on-encore.ts', [
      '--noEmit',
      '--skipLibCheck',
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      ...types,
    ]);
  });

  test('Watt: the settings match the schema of its package', async () => {
    const text = page.find(({ text }) => text.includes('schemas.platformatic.dev'))?.text ?? '';
    const settings = JSON.parse(text) as { $schema: string };
    const version = /node\/([\d.]+)\.json$/.exec(settings.$schema)?.[1];
    const packed = `@platformatic/node@${version}`;
    await run('npm', ['pack', '--silent', packed], { cwd: folder });
    await run('tar', ['xzf', `platformatic-node-${version}.tgz`, 'package/schema.json'], {
      cwd: folder,
    });
    const schema = JSON.parse(readFileSync(join(folder, 'package/schema.json'), 'utf8')) as object;
    const validate = new Ajv({ strict: false, logger: false }).compile(schema);
    assert.ok(validate(settings), JSON.stringify(validate.errors));
    assert.equal(validate({ ...settings, runtime: { workers: 0 } }), false);
  });
});
