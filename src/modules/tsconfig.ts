import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The tsconfig.json that TypeScript's own tools take for a file: the nearest above it; undefined: there is none. */
export function tsconfigOf(file: string): string | undefined {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const path = join(folder, 'tsconfig.json');
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) return undefined;
  }
}

/**
 * The nearest tsconfig.json of a file, where `paths` written in it has the name of what is imported as a package.
 *
 * @param name `~` of `import '~/users.ts'`
 */
export function tsconfigWithPath(file: string, name: string): string | undefined {
  const tsconfig = tsconfigOf(file);
  if (tsconfig === undefined) return undefined;
  const text = readFileSync(tsconfig, 'utf8');
  const isThere =
    text.includes('"paths"') && [`"${name}"`, `"${name}/`].some((key) => text.includes(key));
  return isThere ? tsconfig : undefined;
}
