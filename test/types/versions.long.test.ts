/** Programs of users, compiled against the packed package with each supported version of TypeScript. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { installPacked } from '../cli/packed.ts';
import { type Compiler, compilers, resolutions } from '../compilers.ts';
import { readme } from '../docs/guide/chapters.ts';
import { compilerOptions } from '../docs/guide/project.ts';
import { root } from '../files.ts';

/** What a careful project sets, and the declarations of its libraries checked too. */
const strictest = {
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
};

const entries = [
  'index',
  'client/index',
  'client/sse',
  'client/socket',
  'client/tanstack',
  'extras/jwt/jwt',
] as const;

/** What the declarations of an entry may import by name; left out: nothing. */
const packagesOf: Readonly<Partial<Record<(typeof entries)[number], RegExp>>> = {
  index: /^(?:@sinclair\/typebox|node:.*)$/,
  'client/tanstack': /^@tanstack\/query-core$/,
};

/** The declaration files that an entry of the package leads to, with what each imports by name. */
function declarationsOf(entry: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const visit = (file: string): void => {
    if (found.has(file)) return;
    const code = readFileSync(file, 'utf8').replace(/\/\*.*?\*\//gs, '');
    const names = [...code.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"\s]+)['"]/g)].map(
      ([, name = '']) => name,
    );
    found.set(
      file,
      names.filter((name) => !name.startsWith('.')),
    );
    for (const name of names.filter((one) => one.startsWith('.'))) {
      visit(resolve(dirname(file), name).replace(/\.ts$/, '.d.ts'));
    }
  };
  visit(entry);
  return found;
}

describe('programs of users', { concurrency: 2 }, () => {
  let project: string;
  const dist = (): string => join(project, 'node_modules/tandem-rpc/dist/src');

  before(async () => {
    project = mkdtempSync(join(tmpdir(), 'tandem-versions-'));
    await installPacked(project);
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  });
  after(() => rmSync(project, { recursive: true }));

  /** What a compiler says of the files of `folder`; '' for nothing. */
  async function errorsOf(
    compiler: Compiler,
    folder: string,
    options: object,
    include = ['**/*.ts'],
  ) {
    const config = join(folder, `tsconfig.${compiler.version}.json`);
    writeFileSync(
      config,
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...options }, include }),
    );
    const child = spawn(process.execPath, [compiler.main, '-p', config], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return text(child.stdout);
  }

  function everywhere(
    title: string,
    compile: (compiler: Compiler, resolution: object) => Promise<string>,
  ): void {
    for (const compiler of compilers) {
      for (const { name, options } of resolutions) {
        it(`${title}: TypeScript ${compiler.version}, ${name}`, async () => {
          assert.equal(await compile(compiler, options), '');
        });
      }
    }
  }

  describe('of README.md and the template', () => {
    let folder: string;
    before(() => {
      folder = join(project, 'first');
      cpSync(join(root, 'templates/basic'), folder, { recursive: true });
      const files = readme.project.filter((step) => step.kind === 'file');
      assert.equal(files.length, 2);
      mkdirSync(join(folder, 'readme'));
      for (const { name, text } of files) writeFileSync(join(folder, 'readme', name), text);
    });
    everywhere('compile', (compiler, resolution) => errorsOf(compiler, folder, resolution));
    everywhere('compile without strictNullChecks: README.md', (compiler, resolution) =>
      errorsOf(compiler, folder, { ...resolution, strict: false }, ['readme/*.ts']),
    );
  });

  describe('of the type tests', () => {
    let folder: string;
    before(() => {
      folder = join(project, 'types');
      for (const name of ['types', 'fixtures/client', 'fixtures/codegen']) {
        cpSync(join(root, 'test', name), join(folder, 'test', name), { recursive: true });
      }
      symlinkSync(dist(), join(folder, 'src'));
    });
    everywhere('compile', (compiler, resolution) =>
      errorsOf(
        compiler,
        folder,
        {
          ...resolution,
          lib: ['es2023', 'dom', 'dom.asynciterable'],
          exactOptionalPropertyTypes: true,
        },
        ['test/types/*.test-d.ts'],
      ),
    );
  });

  describe('that check their libraries', () => {
    before(() => {
      for (const name of ['server', 'browser']) mkdirSync(join(project, name));
      writeFileSync(
        join(project, 'server/all.ts'),
        `export * from 'tandem-rpc';\nexport * from 'tandem-rpc/jwt';\n`,
      );
      const client = ['client', 'client/sse', 'client/socket'].map(
        (one) => `export * from 'tandem-rpc/${one}';\n`,
      );
      writeFileSync(join(project, 'browser/all.ts'), client.join(''));
    });
    everywhere('compile on Node', (compiler, resolution) =>
      errorsOf(compiler, join(project, 'server'), { ...resolution, ...strictest }),
    );
    everywhere('compile in a browser, without the types of Node', (compiler, resolution) =>
      errorsOf(compiler, join(project, 'browser'), {
        ...resolution,
        ...strictest,
        types: [],
        lib: ['es2023', 'dom'],
      }),
    );
  });

  for (const entry of entries) {
    it(`the declarations of ${entry} import TypeBox, TanStack Query's core and Node's modules alone`, () => {
      const allowed = packagesOf[entry] ?? /^$/;
      const others: string[] = [];
      for (const [file, names] of declarationsOf(join(dist(), `${entry}.d.ts`))) {
        for (const name of names)
          if (!allowed.test(name)) others.push(`${relative(dist(), file)}: ${name}`);
      }
      assert.deepEqual(others, []);
    });
  }
});
