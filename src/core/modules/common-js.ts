import { createRequire, Module } from 'node:module';
import { isAbsolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { types } from 'node:util';
import {
  facadeUrl,
  isUserFile,
  packageEntry,
  packageIsModule,
  requiredEntry,
} from './module-url.ts';

const { cache } = createRequire(import.meta.url);

/** The graph of required files, read from the require cache: on Node 20 no hook sees a require. */
export function requiredFiles() {
  const children = new Map<string, Set<string>>();
  const cached = new Map<string, NodeJS.Module>();
  const add = (parent: string | undefined, child: string | undefined): void => {
    if (typeof parent !== 'string' || typeof child !== 'string' || !isUserPath(child)) return;
    const path = withoutQuery(parent);
    const known = children.get(path);
    if (known === undefined) children.set(path, new Set([withoutQuery(child)]));
    else known.add(withoutQuery(child));
  };
  for (const module of cachedModules()) {
    cached.set(withoutQuery(module.filename), module);
    add(module.parent?.filename, module.filename);
    // Entries that Node itself makes (for an imported JSON file) have no children.
    for (const child of module.children ?? []) add(module.filename, child.filename);
  }
  return {
    isCached: (path: string): boolean => cached.has(path),
    /** Whether the file is an ES module that was loaded by require(). */
    isModule: (path: string): boolean => types.isModuleNamespaceObject(cached.get(path)?.exports),
    /** User files that the file at `path` has required (an ES module: through createRequire). */
    of: (path: string): readonly string[] => [...(children.get(path) ?? [])],
  };
}

/**
 * Calls `onLoad` before a user file is required, with its path and that of the file that requires it. If the file then throws, or
 * is an ES module, whose imports nobody sees, calls `onUnknown`.
 */
export function watchRequired(
  onLoad: (path: string, parent: string | undefined) => void,
  onUnknown: (path: string) => void,
): void {
  const load = Reflect.get(Module.prototype, 'load') as (filename: string) => void;
  const watched = function (this: NodeJS.Module, filename: string): void {
    const path = withoutQuery(filename);
    const isUsers = isUserPath(path);
    const parent = this.parent?.filename;
    if (isUsers) onLoad(path, typeof parent === 'string' ? withoutQuery(parent) : undefined);
    let isCommonJs = false;
    try {
      Reflect.apply(load, this, [filename]);
      isCommonJs = !types.isModuleNamespaceObject(this.exports);
    } finally {
      if (isUsers && !isCommonJs) onUnknown(path);
    }
  };
  Reflect.set(Module.prototype, 'load', watched);
}

/**
 * Removes files from the require cache, so that the next generation loads its CommonJS and JSON files anew: all files
 * that `files` reach. Compiled addons stay, since they can't load twice.
 *
 * @param files undefined if the graph is not known: then all files that ES modules have imported, and what they reach
 * @returns the removed files that ES modules import, for {@link requireAnew}
 */
export function purgeRequired(files: Iterable<string> | undefined): string[] {
  const required = requiredFiles();
  const queue = files === undefined ? rootFiles() : [...files];
  const stale = new Set<string>();
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (stale.has(path)) continue;
    stale.add(path);
    queue.push(...required.of(path));
  }
  const roots = rootFiles().filter((path) => stale.has(path));
  for (const [key, module] of Object.entries(cache)) {
    if (module === undefined) continue;
    // A module that stays must not refer to modules that go: the garbage collector could not free those.
    if (module.children?.some((child) => stale.has(withoutQuery(child.filename ?? '')))) {
      module.children = module.children.filter(
        (child) => !stale.has(withoutQuery(child.filename ?? '')),
      );
    }
    if (stale.has(withoutQuery(key)) && !key.endsWith('.node')) delete cache[key];
  }
  return roots;
}

/** Files in the require cache that an ES module imported: such a file has no parent, or is its own parent. */
function rootFiles(): string[] {
  return cachedModules()
    .filter(({ id, filename, parent }) => {
      if (id === '.' || !isUserPath(filename)) return false;
      return parent == null || parent.filename === filename;
    })
    .map((module) => withoutQuery(module.filename));
}

/**
 * Loads purged files by a plain require, before anything imports them. This works around a fault of Node 20 to 24: an
 * import enters all files that a file re-exports (`module.exports = require('./two.cjs')`) into the require cache before
 * it runs them. Node remembers from the earlier generation where './two.cjs' leads, takes the new entry for a circular
 * require, and returns its empty exports.
 */
export function requireAnew(files: readonly string[]): void {
  for (const path of files) {
    if (!/\.c?js$/.test(path)) continue;
    try {
      createRequire(path)(path);
    } catch {
      // The import that follows meets the same error and reports it, or does not need the file any more.
    }
  }
}

/**
 * Makes `require('tandem-rpc')` return this copy of the package. Otherwise Node 20 refuses to require it (the package is
 * an ES module), and tsx makes a second copy of it.
 *
 * @returns the exports of the package as modules of this generation see them
 */
export async function offerPackage(generation: number): Promise<Record<string, unknown>> {
  const path = fileURLToPath(requiredEntry);
  const known = cache[path];
  if (!packageIsModule && known !== undefined) return known.exports as Record<string, unknown>;
  const url = generation === 0 ? packageEntry : facadeUrl(generation);
  const namespace = (await import(url)) as Record<string, unknown>;
  const module = known ?? new Module(path);
  module.filename = path;
  module.loaded = true;
  module.exports = namespace;
  cache[path] = module;
  return namespace;
}

function cachedModules(): NodeJS.Module[] {
  return Object.values(cache).filter(
    (module): module is NodeJS.Module => typeof module?.filename === 'string',
  );
}

function isUserPath(path: string): boolean {
  const plain = withoutQuery(path);
  return isAbsolute(plain) && isUserFile(pathToFileURL(plain).href);
}

/** The path in a key of the require cache. tsx keys TypeScript's CommonJS by path and query, or by code and `?filePath=`. */
function withoutQuery(key: string): string {
  if (key.startsWith('data:')) {
    const path = key.slice(key.lastIndexOf('?')).replace(/^\?filePath=/, '');
    return withoutQuery(decodeURIComponent(path));
  }
  const query = key.indexOf('?');
  return query === -1 ? key : key.slice(0, query);
}
