import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where the files of this package lie. It runs in three forms, whose trees look alike: from its sources (tsx), compiled
 * file by file (tests, benchmarks), and bundled, as it is published. The bundle keeps the files that are named here at
 * their places, and all that they share in `src/core/chunks/`: three folders below the tree, as this file is.
 */
const tree = new URL('../../../', import.meta.url);
const isSource = import.meta.url.endsWith('.ts');

/** `.ts` where this package runs from its sources, else `.js`. */
export const ownExtension: string = isSource ? '.ts' : '.js';

/** In the bundle the package has another entry for `require`, which can't wait for what `import` waits for. */
export const isBundled: boolean = new URL('./', import.meta.url).pathname.endsWith('/chunks/');

/** A file of this package in the form that runs. @param path of its source, from the package's folder */
export function ownFile(path: `${string}.${'' | 'c'}ts`): URL {
  return new URL(isSource ? path : path.replace(/ts$/, 'js'), tree);
}

/** The folder that holds all of the package: of a built one the parent of `dist`. */
export const packageFolder: URL = tree.pathname.endsWith('/dist/') ? new URL('../', tree) : tree;

/** The version of this package. */
export function ownVersion(): string {
  return String(nearestManifest(fileURLToPath(packageFolder)).version);
}

/** A name as npm has it, and others that fit on one line. */
const nameShape = /^[\w@][\w @/.~-]{0,213}$/;

/** The name of the service: that of the package.json in the working directory or above it; tandem-rpc if there is no usable one. */
export function serviceName(): string {
  const { name } = nearestManifest(process.cwd());
  return typeof name === 'string' && nameShape.test(name) ? name : 'tandem-rpc';
}

interface Manifest {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly type?: unknown;
}

/** What the package.json in `folder`, or the nearest one above it, says; nothing if there is none that can be read. */
export function nearestManifest(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) ?? {};
  } catch (error) {
    const above = dirname(folder);
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isMissing && above !== folder ? nearestManifest(above) : {};
  }
}
