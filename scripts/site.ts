/**
 * `npm run docs:site`: builds the site in docs/site/dist from the pages of the repository, by VitePress, which fails at a link to a
 * page that is not there. The reference of the API is made before, by TypeDoc, in docs/reference/api. Both are installed in docs/site:
 * TypeDoc needs TypeScript 5, and they take 150 MB that no test needs.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeTypes } from './bundle.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const site = join(root, 'docs/site');
const bin = join(site, 'node_modules/.bin');

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, {
    cwd: site,
    stdio: 'inherit',
    // On Windows these are .cmd files, which need the shell.
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`failed with ${status}: ${command} ${args.join(' ')}`);
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

/** Writes docs/reference/api from the declarations of the package, a page for each module that it exports. */
function writeReference(): void {
  // In the repository: declarations import its packages.
  mkdirSync(join(root, '.build'), { recursive: true });
  const folder = mkdtempSync(join(root, '.build/reference-'));
  try {
    writeTypes(root, join(folder, 'dist'));
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
    const files = Object.entries(exports).flatMap(([name, entry], index) => {
      if (typeof entry === 'string') return [];
      const file = join(folder, `entry-${index}.d.ts`);
      const from = entry.types.replace(/\.d\.ts$/, '.js');
      const module = name.replace('.', 'tandem-rpc');
      writeFileSync(file, `/** @module ${module} */\nexport * from '${from}';\n`);
      return [file];
    });
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2023', 'dom', 'dom.iterable'],
      types: ['node'],
      module: 'nodenext',
      strict: true,
      skipLibCheck: true,
      noEmit: true,
    };
    const tsconfig = join(folder, 'tsconfig.json');
    writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files }));
    const inputs = files.flatMap((file) => ['--entryPoints', file]);
    const out = join(root, 'docs/reference/api');
    run(join(bin, 'typedoc'), ['--tsconfig', tsconfig, ...inputs, '--out', out]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (!existsSync(bin)) run('npm', ['ci', '--no-audit', '--no-fund']);
writeReference();
run(join(bin, 'vitepress'), ['build']);
