import { readFileSync } from 'node:fs';

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
  const text = readFileSync(new URL('package.json', packageFolder), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
