import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

/** The package that has the client. */
export const clientName = 'tandem-rpc-client';

/**
 * What a project in `target` has to depend on to get the copy of this package that runs now: the tarball or folder
 * that the package was installed from, where npm has noted one, else its version on the registry.
 *
 * @param folder of the package
 */
export function installSource(folder: string, version: string, target: string): string {
  const modules = dirname(folder);
  // A clone, or a package that was linked.
  if (basename(modules) !== 'node_modules') return fileSpecifier(folder, target);
  const tarball = tarballOf(modules, basename(folder));
  return tarball === undefined ? `^${version}` : fileSpecifier(tarball, target);
}

/**
 * What a project in `target` has to depend on, too, where the client of this package was installed from a tarball: npm
 * would ask the registry for it. Undefined: npm finds it.
 *
 * @param folder of the package
 */
export function clientSource(folder: string, target: string): string | undefined {
  const modules = dirname(folder);
  const tarball = basename(modules) === 'node_modules' ? tarballOf(modules, clientName) : undefined;
  return tarball && fileSpecifier(tarball, target);
}

/**
 * The tarball's absolute path; undefined where the package came from elsewhere, the tarball is gone, or another
 * package manager installed it.
 */
function tarballOf(modules: string, name: string): string | undefined {
  const lock = readLock(join(modules, '.package-lock.json'));
  const from = lock?.packages?.[`node_modules/${name}`]?.resolved;
  if (typeof from !== 'string' || !from.startsWith('file:')) return undefined;
  const tarball = resolve(dirname(modules), from.slice('file:'.length));
  return existsSync(tarball) ? tarball : undefined;
}

/** The part of npm's hidden lockfile that is read here. */
interface Lock {
  readonly packages?: Readonly<Record<string, { readonly resolved?: unknown } | undefined>>;
}

function readLock(path: string): Lock | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Lock;
  } catch {
    return undefined; // only npm writes this file
  }
}

function fileSpecifier(path: string, target: string): string {
  return `file:${relative(target, path).replaceAll('\\', '/')}`;
}
