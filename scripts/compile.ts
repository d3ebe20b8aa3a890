/**
 * Compiles the repository into a folder of its own. The other files that tests find by their own place in the tree
 * (fixtures, templates, package.json) are copied beside the JavaScript. Code in the folder needs no tsx, which costs
 * about a second of CPU for each worker thread and each process.
 */
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
import { build } from 'esbuild';
import { buildConsole } from './console.ts';
import { joinModules } from './join-modules.ts';
import { run } from './run.ts';

/** The folder of the copies, one for each current run. It lies in the repository, so that they find its node_modules. */
const buildFolder = '.build';
/** `console/` without its components, which are no part of the tests. */
const folders = ['src', 'workers', 'test', 'examples', 'scripts', 'bench', 'console/**/*.ts'];
/** Files that are copied and not compiled: what `tandem init` writes. */
const asTheyAre = 'templates';

export type TreeForm = 'coded' | 'apart';

/**
 * @param root the repository's folder
 * @param form of what every thread and process starts with: joined into one file, with V8's compiled code of it beside (`coded`), without
 *   source maps, or as the sources lie (`apart`), with them, which starts slowly
 * @returns the folder of the copy, which has the same names as `root` in it. The caller removes it
 * @throws Error with the compiler's message for a syntax error. `npm run typecheck` checks the types
 */
export async function compileTree(root: string, form: TreeForm = 'coded'): Promise<string> {
  const builds = join(root, buildFolder);
  mkdirSync(builds, { recursive: true });
  removeForgotten(builds);
  const copy = mkdtempSync(join(builds, `test-${process.pid}-`));
  try {
    const page = buildConsole(root, join(copy, 'dist/console'));
    await Promise.all([page, compileSources(root, copy, form)]);
  } catch (error) {
    rmSync(copy, { recursive: true });
    throw error;
  }
  for (const name of ['templates', 'test', 'examples', 'bench/load']) {
    cpSync(join(root, name), join(copy, name), {
      recursive: true,
      filter: (path) => !path.endsWith('.ts') || path.startsWith(join(root, asTheyAre)),
    });
  }
  // The package of this folder: `import 'tandem-rpc'` finds the copy.
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  // Only the bundle has files of its own for `import` and `require`.
  const own = manifest
    .replaceAll('./dist/', './')
    .replace('"import": "./src/index.js"', '"import": "./src/import.js"')
    .replaceAll('src/required.js', 'src/index.js');
  writeFileSync(join(copy, 'package.json'), own);
  return copy;
}

/** Removes what runs that were killed have left: a soak reads its copy for hours, the report of the coverage after its run. */
function removeForgotten(builds: string): void {
  for (const name of readdirSync(builds)) {
    const path = join(builds, name);
    // What other scripts have installed here is no copy, and stays.
    const isOld = Date.now() - statSync(path).mtimeMs > 86_400_000;
    if (isOld && /^(?:test|reference)-/.test(name)) rmSync(path, { recursive: true, force: true });
  }
}

async function compileSources(root: string, copy: string, form: TreeForm): Promise<void> {
  // Source maps are as many files again to write.
  await Promise.all([compile(root, copy, form === 'apart'), bundleTypeBox(root, copy)]);
  for (const folder of folders) renameModules(join(copy, folder.split('/', 1)[0] as string));
  if (form === 'coded') await joinModules(copy);
}

async function compile(root: string, copy: string, sourceMap: boolean): Promise<void> {
  const config = join(copy, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    noCheck: true,
    outDir: copy,
    rootDir: root,
    sourceMap,
    paths: {},
    // Each file by itself: no types are needed, so none are read.
    noResolve: true,
    types: [],
  };
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions,
      include: folders.map((name) => join(root, name)),
      exclude: [asTheyAre, 'bench/.build'].map((one) => join(root, one)),
    }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', config], { cwd: root });
}

/** What this repository imports of TypeBox. */
const typeBoxEntries = ['.', './compiler', './system'];

/**
 * TypeBox in a few files, where everything in the copy finds it first. Its 220 small ones take 170 ms of CPU in each
 * process and each worker thread, and the tests start more than a thousand.
 */
async function bundleTypeBox(root: string, copy: string): Promise<void> {
  const installed = join(root, 'node_modules/@sinclair/typebox');
  const folder = join(copy, 'node_modules/@sinclair/typebox');
  const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  await build({
    entryPoints: Object.fromEntries(
      typeBoxEntries.map((entry) => [
        join(entry, 'index'),
        join(installed, 'build/esm', entry, 'index.mjs'),
      ]),
    ),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
  });
  const exports = Object.fromEntries(
    typeBoxEntries.map((entry) => [entry, `./${join(entry, 'index.js')}`]),
  );
  const manifest = { name: '@sinclair/typebox', version, type: 'module', exports };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
}

/** URLs of modules, whose extension is changed like that of imports: `new URL('./procedures.ts', import.meta.url)`. */
const moduleUrl = /(new URL\(['`][^'`]+)\.ts(\?\w+)?(['`], import\.meta\.url\))/g;

function renameModules(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js')) continue;
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    const renamed = text.replace(moduleUrl, '$1.js$2$3');
    if (renamed !== text) writeFileSync(file, renamed);
  }
}
