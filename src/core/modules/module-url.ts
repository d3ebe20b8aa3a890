import { pathToFileURL } from 'node:url';
import { isBundled, ownFile, packageFolder } from '../base/package-files.ts';

/** In procedure modules this name must lead to this copy of the package. */
export const packageName = 'tandem-rpc';

/** False if tsx runs this package as CommonJS. (A bundler gives `require` to ES modules too.) */
export const packageIsModule: boolean = typeof __filename === 'undefined';

const mark = /([?&])gen=(\d+)(&|$)/;

const entry = ownFile(isBundled ? 'src/index.ts' : 'src/import.ts').href;
/** The same for `require`. */
export const requiredEntry: string = ownFile(isBundled ? 'src/required.ts' : 'src/index.ts').href;
export const packageEntry: string = packageIsModule ? entry : requiredEntry;

/** The folder of this package in stack traces. With source maps they name its sources, which may lie elsewhere. */
const [ownFrame] = framesOf(new Error('for its stack').stack ?? '');
const sourceRoot =
  ownFrame === undefined ? packageFolder.href : new URL('../../../', ownFrame.url).href;
export const ownFolders = [packageFolder.href, sourceRoot].flatMap((of) =>
  ['src/', 'workers/', 'dist/'].map((folder) => of + folder),
);

/** The places in a stack trace, the innermost first. The URLs have no generation. */
export function framesOf(stack: string): { readonly url: string; readonly line: string }[] {
  const found = stack.matchAll(/(?:\(| )((?:file:\/\/|\/|[A-Za-z]:\\)[^()\n]*?):(\d+):\d+\)?$/gm);
  return Array.from(found, ([, file = '', line = '']) => {
    const plain = withoutGeneration(file);
    return { url: plain.startsWith('file:') ? plain : pathToFileURL(plain).href, line };
  });
}

export function isOwnFile(url: string): boolean {
  return ownFolders.some((folder) => url.startsWith(folder));
}

/** Whether a reload renews the file: it belongs neither to a dependency nor to this package (examples and tests do count). */
export function isUserFile(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !isOwnFile(url);
}

export function generationOf(url: string): number {
  return Number(mark.exec(url)?.[2] ?? 0);
}

/** Adds the mark of a generation. Generation 0 has the plain URL, which a plain import also has. */
export function withGeneration(url: string, generation: number): string {
  if (generation === 0) return url;
  return `${url}${url.includes('?') ? '&' : '?'}gen=${generation}`;
}

export function withoutGeneration(url: string): string {
  return url.replace(mark, (_match, before: string, _number, after: string) =>
    after === '' ? '' : before,
  );
}

/** tsx writes a mark of its own into the URLs of CommonJS: behind the query, or into the path as `%3F...`. */
const tsxMark = /(?:%3F|[?&])tsx-commonjs-[^#]*/i;

export function withoutMarks(url: string): string {
  return withoutGeneration(url).replace(tsxMark, '');
}

/**
 * The URL of this package as modules of a later generation see it: the same classes, but a new `defaultRouter`. So the
 * procedures that they register do not collide with the generation that is being served, and are not served before the
 * swap.
 */
export function facadeUrl(generation: number): string {
  const entry = JSON.stringify(packageEntry);
  const source = `import { Router } from ${entry};
export * from ${entry};
export const defaultRouter = new Router();
export const rpc = defaultRouter.rpc;
// generation ${generation}`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}
