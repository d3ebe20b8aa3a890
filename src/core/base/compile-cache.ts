import { lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { isBundled, packageFolder } from './package-files.ts';

/** Exists since Node 22.1, and is missing in the types of Node 20. */
const { enableCompileCache } = module as unknown as {
  enableCompileCache?: (folder: string) => unknown;
};

/**
 * Tells Node to keep the compiled code of what this thread loads from now on: a start takes an eighth less time. The folder lies
 * beside the package. If it is open to other users, or can't be written, nothing is kept. This does nothing if the package is not installed, or if coverage is measured, which is less exact for kept code.
 */
export function keepCompiledCode(): void {
  if (!isBundled || process.env.NODE_V8_COVERAGE !== undefined) return;
  const folder = new URL('../.cache/tandem-rpc/', packageFolder);
  if (!folder.pathname.endsWith('/node_modules/.cache/tandem-rpc/')) return;
  const path = fileURLToPath(folder);
  if (isOwnFolder(path)) enableCompileCache?.(path);
}

/**
 * Whether nobody but the user of this process can write there: Node runs what lies in it. Makes the folder if there is
 * none. On Windows the rights of the folder around it hold.
 */
export function isOwnFolder(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const found = lstatSync(path);
    if (!found.isDirectory()) return false;
    return (
      process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o077) === 0)
    );
  } catch {
    return false;
  }
}
