/**
 * Where tests find files. They run in two forms: compiled, in a copy of the tree that scripts/compile.ts makes below
 * the repository (`npm test`), and from the sources through tsx (a single file, run by `node --import tsx --test`).
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Whether this run is the compiled one. */
export const isCompiled: boolean = import.meta.url.endsWith('.js');

/** The folder that holds this run's `src` and `test`: the copy's, or the repository's. */
export const tree: string = fileURLToPath(new URL('..', import.meta.url));

/** The repository's folder: pages, sources as text, node_modules. */
export const root: string = isCompiled ? fileURLToPath(new URL('../../..', import.meta.url)) : tree;

/**
 * The file that this run has of a module of the repository.
 *
 * @param path as in the repository: `src/index.ts` is `src/index.js` in the compiled copy
 */
export function modulePath(path: string): string {
  return join(tree, isCompiled ? path.replace(/\.ts$/, '.js') : path);
}

export function moduleUrl(path: string): string {
  return pathToFileURL(modulePath(path)).href;
}

/** The path of a file in test/fixtures, in the form of this run. */
export function fixture(name: string): string {
  return modulePath(`test/fixtures/${name}`);
}

/** Flags of a Node process that is to import `paths`. */
export const nodeFlags: readonly string[] = isCompiled ? [] : ['--import', 'tsx'];

/** What says when to clean up: the context of a test, or `{ after }` of node:test for a suite or a file. */
export interface Lifetime {
  after(end: () => unknown): unknown;
}

/** A folder that is gone after the test. */
export function temporaryFolder(t: Lifetime): string {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let anotherCopy: Promise<typeof import('../src/index.ts')> | undefined;

/** Another copy of the package, as a second installation is: nothing in it is the same object as in this one. */
export function importAnotherCopy(): Promise<typeof import('../src/index.ts')> {
  anotherCopy ??= importCopy();
  return anotherCopy;
}

async function importCopy(): Promise<typeof import('../src/index.ts')> {
  const folder = mkdtempSync(join(tree, 'test', 'copy-'));
  try {
    cpSync(join(tree, 'src'), join(folder, 'src'), { recursive: true });
    const index = isCompiled ? 'src/index.js' : 'src/index.ts';
    return await import(pathToFileURL(join(folder, index)).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
