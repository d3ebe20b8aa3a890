import { createRequire, Module } from 'node:module';
import { isAbsolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { types } from 'node:util';
import { facadeUrl, isUserFile, packageEntry, packageIsModule } from './module-url.ts';

const { cache } = createRequire(import.meta.url);

interface RequiredFiles {
  isCached(path: string): boolean;
  /** Is it an ES module, loaded by require()? */
  isModule(path: string): boolean;
  /** User files that `path` has required: itself, or (an ES module) through createRequire. */
  of(path: string): readonly string[];
}

/** The graph of the require cache, in which no hook takes part on Node 20. */
export function requiredFiles(): RequiredFiles {
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
    // Node's own entries (an imported JSON file) have no children.
    for (const child of module.children ?? []) add(module.filename, child.filename);
  }
  return {
    isCached: (path) => cached.has(path),
    isModule: (path) => types.isModuleNamespaceObject(cached.get(path)?.exports),
    of: (path) => [...(children.get(path) ?? [])],
  };
}

/**
 * Makes the next generation load its CommonJS and JSON files anew: all that `files` reach, or, where the
 * graph is not known, all that ES modules have imported. Compiled addons stay, they can't load twice.
 *
 * @returns the CommonJS files among them that ES modules import, for {@link requireAnew}
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
    // What stays must not keep what goes.
    if (module.children?.some((child) => stale.has(withoutQuery(child.filename ?? '')))) {
      module.children = module.children.filter(
        (child) => !stale.has(withoutQuery(child.filename ?? '')),
      );
    }
    if (stale.has(withoutQuery(key)) && !key.endsWith('.node')) delete cache[key];
  }
  return roots;
}

/** Files in the require cache that an ES module imported: they have no parent (or are their own, below). */
function rootFiles(): string[] {
  return cachedModules()
    .filter(({ id, filename, parent }) => {
      if (id === '.' || !isUserPath(filename)) return false;
      return parent == null || parent.filename === filename;
    })
    .map((module) => withoutQuery(module.filename));
}

/**
 * Loads purged files by a plain require, before anything imports them. An import enters all that a file
 * re-exports (`module.exports = require('./two.cjs')`) into the require cache before it runs; Node (20 to
 * 24) remembers from the earlier generation where './two.cjs' leads, takes the entry for a circular require
 * and gives out its empty exports.
 */
export function requireAnew(files: readonly string[]): void {
  for (const path of files) {
    if (!/\.c?js$/.test(path)) continue;
    try {
      createRequire(path)(path);
    } catch {
      // The import meets the same error, and reports it; or no longer needs the file.
    }
  }
}

/**
 * `require('tandem-rpc')` gives this copy: else Node 20 refuses it (an ES module), and tsx makes a second
 * copy of the package out of it.
 *
 * @returns the package as modules of this generation see it
 */
export async function offerPackage(generation: number): Promise<Record<string, unknown>> {
  const path = fileURLToPath(packageEntry);
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

/** tsx keeps TypeScript's CommonJS under its path and a query, or under its code and `?filePath=`. */
function withoutQuery(key: string): string {
  if (key.startsWith('data:')) {
    const path = key.slice(key.lastIndexOf('?')).replace(/^\?filePath=/, '');
    return withoutQuery(decodeURIComponent(path));
  }
  const query = key.indexOf('?');
  return query === -1 ? key : key.slice(0, query);
}
