import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Lifetime, root, temporaryFolder } from '../files.ts';

const compiler = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
);
const nodeModules = join(root, 'node_modules');

const options = {
  target: 'es2022',
  lib: ['es2023', 'dom'],
  types: [],
  module: 'nodenext',
  moduleDetection: 'force',
  strict: true,
  // The declarations of the DOM and of ECMAScript are TypeScript's own: to check them takes most of the time.
  skipLibCheck: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noUnusedLocals: true,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
  outDir: 'out',
  rootDir: '/',
  paths: { 'tandem-rpc/client': [join(root, 'src/client/index.ts')] },
};

/**
 * What tsc says of .ts files under every strict option; '' for nothing.
 *
 * @param folder a temporary one
 * @param files absolute paths, or relative to it
 */
export function typeErrors(folder: string, files: readonly string[], more: object = {}): string {
  symlinkSync(nodeModules, join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...options, ...more }, files }),
  );
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', folder], {
    encoding: 'utf8',
  });
  return stdout + stderr;
}

interface Compiled {
  /** What tsc says of it. */
  readonly errors: string;
  /** The JavaScript that is left of it: `export {};` where it is types only. */
  readonly script: string;
}

/** Compiles generated texts, each by itself, in one run. */
export function compiledAll(t: Lifetime, texts: readonly string[]): Compiled[] {
  const folder = temporaryFolder(t);
  const files = texts.map((text, index) => {
    writeFileSync(join(folder, `api${index}.ts`), text);
    return `api${index}.ts`;
  });
  const errors = typeErrors(folder, files);
  return files.map((file) => {
    const script = readFileSync(join(folder, 'out', folder, file.replace('.ts', '.js')), 'utf8');
    const own = errors.split('\n').filter((line) => line.startsWith(`${file}(`));
    return {
      errors: own.join('\n'),
      script: script.replace(/^\s*\/\/.*$|\/\*[\s\S]*?\*\//gm, '').trim(),
    };
  });
}

export function compiled(t: Lifetime, text: string): Compiled {
  const [only] = compiledAll(t, [text]);
  if (only === undefined) throw new Error('one text gives one result');
  return only;
}
