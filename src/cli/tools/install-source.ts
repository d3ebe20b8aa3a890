import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

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
