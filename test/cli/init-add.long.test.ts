/** What `tandem init --add` adds runs in projects as people have them, and their compilers take it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { type Compiler, compilers } from '../compilers.ts';
import { patienceVariables } from '../patience.ts';
import { installPacked } from './packed.ts';
import { Running } from './process.ts';

/** As `create-next-app` writes it. */
const nextOptions = {
  compilerOptions: {
    target: 'ES2017',
    lib: ['dom', 'dom.iterable', 'esnext'],
    allowJs: true,
    skipLibCheck: true,
    strict: true,
    noEmit: true,
    esModuleInterop: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    resolveJsonModule: true,
    isolatedModules: true,
    jsx: 'react-jsx',
    incremental: true,
  },
  include: ['**/*.ts', '**/*.tsx', '**/*.mts'],
  exclude: ['node_modules'],
};

describe('tandem init --add, from the packed package', () => {
  let folder = '';
  let main = '';
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tandem-added-'));
    main = await installPacked(folder);
  });
  after(() => rmSync(folder, { recursive: true }));

  /** A process of a user: nothing of this test run's own loaders. */
  function start(command: string, args: readonly string[], cwd: string): Running {
    const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
    const env = { ...inherited, ...patienceVariables, TANDEM_PORT: '0', TANDEM_WORKERS: '1' };
    // In a group of its own: npm does not pass a signal on to what its scripts started.
    return new Running(spawn(command, args, { cwd, env, detached: true }));
  }
  async function done(command: string, args: readonly string[], cwd: string): Promise<string> {
    const { code, stdout, stderr } = await start(command, args, cwd).exit;
    assert.equal(code, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`);
    return stdout;
  }
  const compile = ({ main }: Compiler, cwd: string, ...args: string[]) =>
    done(process.execPath, [main, ...args], cwd);

  async function project(
    name: string,
    files: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const cwd = join(folder, name);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true });
      writeFileSync(join(cwd, path), text);
    }
    mkdirSync(cwd, { recursive: true });
    await done('npm', ['init', '-y'], cwd);
    return cwd;
  }
  const add = (cwd: string) => done(process.execPath, [main, 'init', '--add'], cwd);

  /** Runs a script until it has answered calls of both procedures. */
  async function answers(t: TestContext, cwd: string, script: string): Promise<Running> {
    const server = start('npm', ['run', '--silent', '--offline', script], cwd);
    t.after(async () => {
      process.kill(-Number(server.child.pid));
      await server.exit;
    });
    const [, url = ''] = await server.seen('stdout', /listens on (http:\S+) /);
    assert.equal(
      await done(process.execPath, [main, 'call', url, 'greet', 'Ada'], cwd),
      '"Hello, Ada!"\n',
    );
    assert.equal(
      await done(process.execPath, [main, 'call', url, 'primes.count', '100'], cwd),
      '25\n',
    );
    return server;
  }

  it('runs in a folder of npm init -y, which is CommonJS', async (t) => {
    const cwd = await project('fresh');
    assert.match(await add(cwd), /^wrote procedures\.mjs \(\.mjs: /m);
    await answers(t, cwd, 'rpc');
    await answers(t, cwd, 'rpc:dev');
  });

  it('runs in a project of ES modules', async (t) => {
    const cwd = await project('modules', { 'src/index.js': 'export {};' });
    await done('npm', ['pkg', 'set', 'type=module'], cwd);
    assert.match(await add(cwd), /^wrote src\/procedures\.js$/m);
    await answers(t, cwd, 'rpc');
  });

  for (const compiler of compilers) {
    it(`compiles and runs beside the tsconfig.json of tsc --init: TypeScript ${compiler.version}`, async (t) => {
      const cwd = await project(`tsc-${compiler.version}`);
      await compile(compiler, cwd, '--init');
      assert.match(await add(cwd), /^wrote procedures\.mts \(\.mts: /m);
      await compile(compiler, cwd, '--noEmit');
      await answers(t, cwd, 'rpc:dev');
      assert.match(readFileSync(join(cwd, 'procedures-api.mts'), 'utf8'), /'primes\.count': \{/);
      await compile(compiler, cwd, '--noEmit');
    });
  }

  it('compiles and runs in the layout of Next.js', async (t) => {
    const cwd = await project('next', {
      'src/app/page.tsx': 'export default function Page() {\n  return <p>Shop</p>;\n}\n',
      'next-env.d.ts': '',
      'tsconfig.json': JSON.stringify(nextOptions),
    });
    assert.match(await add(cwd), /^wrote src\/procedures\.mts \(\.mts: /m);
    await answers(t, cwd, 'rpc:dev');
    writeFileSync(
      join(cwd, 'src/app/rpc.ts'),
      `import { createClient } from 'tandem-rpc/client';
import type { Contract } from '../procedures-api.mjs';
export const rpc = createClient<Contract>({ url: 'http://127.0.0.1:8000/rpc' });
export const count: Promise<number> = rpc.primes.count({ below: 10 });
`,
    );
    for (const compiler of compilers) await compile(compiler, cwd);
  });
});
