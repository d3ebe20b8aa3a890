/**
 * Compiles the repository into a folder of its own, with everything else that the tests read through their own
 * place in the tree (fixtures, templates, package.json) beside the JavaScript. What runs there needs no tsx: with it
 * each worker thread and each process costs about a second of CPU more.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Holds the copies, one for each run that is going on. Below the repository, so that they find its node_modules. */
const buildFolder = '.build';
const folders = ['src', 'workers', 'test', 'examples', 'scripts', 'bench'];
/** Copied as they are: their mistakes are what the tests are about. */
const broken = 'test/fixtures/broken';

/**
 * @param root the repository's folder
 * @returns the copy's folder, for the caller to remove; its children are named as those of `root`
 * @throws Error with the compiler's words where a file is no TypeScript. Types are left to `npm run typecheck`.
 */
export function compileTree(root: string): string {
  const builds = join(root, buildFolder);
  mkdirSync(builds, { recursive: true });
  removeForgotten(builds);
  const copy = mkdtempSync(join(builds, 'test-'));
  try {
    compile(root, copy);
  } catch (error) {
    rmSync(copy, { recursive: true });
    throw error;
  }
  for (const name of ['templates', 'test', 'examples', 'bench/load']) {
    cpSync(join(root, name), join(copy, name), {
      recursive: true,
      filter: (path) => !path.endsWith('.ts') || path.startsWith(join(root, broken)),
    });
  }
  // The package of this folder: `import 'tandem-rpc'` finds the copy.
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  writeFileSync(join(copy, 'package.json'), manifest.replaceAll('./dist/', './'));
  return copy;
}

function compile(root: string, copy: string): void {
  const config = join(copy, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    noCheck: true,
    outDir: copy,
    rootDir: root,
    sourceMap: true,
    paths: {},
    typeRoots: [join(root, 'node_modules/@types')],
  };
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions,
      include: folders.map((name) => join(root, name)),
      exclude: [join(root, broken), join(root, 'bench/.build')],
    }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', config], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`tsc: ${stdout}${stderr}`);
  for (const name of readdirSync(copy, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.js')) renameModules(join(copy, name));
  }
}

/** What the compiler does for imports, for the URLs of modules: `new URL('./procedures.ts', import.meta.url)`. */
const moduleUrl = /(new URL\(['`][^'`]+)\.ts(\?\w+)?(['`], import\.meta\.url\))/g;

function renameModules(file: string): void {
  const text = readFileSync(file, 'utf8');
  const renamed = text.replace(moduleUrl, '$1.js$2$3');
  if (renamed !== text) writeFileSync(file, renamed);
}

/** Removes what runs left behind that were killed: no run takes an hour. */
function removeForgotten(builds: string): void {
  for (const name of readdirSync(builds)) {
    const path = join(builds, name);
    const { mtimeMs } = statSync(path);
    if (Date.now() - mtimeMs > 3_600_000) rmSync(path, { recursive: true, force: true });
  }
}
