import module, { type LoadHookContext, type ResolveHookContext } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { ownFile } from '../base/package-files.ts';
import { requiredFiles } from './common-js.ts';
import { GenerationHooks, hashFile, isRequire, type Report } from './import-hooks.ts';
import { generationOf, packageIsModule, withoutGeneration, withoutMarks } from './module-url.ts';

/** Absolute path -> hash of the content that was loaded. */
export type Files = ReadonlyMap<string, string>;

export interface Graph {
  readonly files: Files;
  /** False if a file was loaded before the hooks were installed: what that file imports is not known. */
  readonly complete: boolean;
  /** ES modules that were read, the newest last. A syntax error without a place is searched in them. */
  readonly modules: readonly string[];
  /** ES modules that CommonJS has required. Node never unloads them, so no generation can renew them. */
  readonly requiredModules: readonly string[];
}

type Next<R> = (value: string, context?: object) => R;

interface SyncHooks {
  resolve(
    specifier: string,
    context: ResolveHookContext,
    next: Next<{ url: string }>,
  ): { url: string };
  load(url: string, context: LoadHookContext, next: Next<object>): object;
}

/** Exists since Node 22.15, and is missing in the types of Node 20. Its hooks run in this thread and see `require` too. */
const { registerHooks } = module as unknown as {
  registerHooks?: (hooks: SyncHooks) => { deregister(): void };
};

const imports = new Map<string, Set<string>>();
const loaded = new Map<string, { readonly hash: string; readonly format: string }>();
/** Content hashes by generation and path: a required file has the same URL in every generation. */
const hashes = new Map<string, string>();

let reports: MessagePort | undefined;
let uninstall: (() => void) | undefined;

/**
 * Installs the hooks that record the graph. Idempotent.
 *
 * @param again install them anew: other hooks were added since, and these must be the outermost
 */
export function installHooks(again: boolean): void {
  if (uninstall !== undefined && !again) return;
  drain();
  uninstall?.();
  uninstall = registerHooks === undefined ? installInHooksThread() : installHere(registerHooks);
}

function installInHooksThread(): () => void {
  const { port1, port2 } = new MessageChannel();
  const active = new Int32Array(new SharedArrayBuffer(4)).fill(1);
  module.register(ownFile('src/core/modules/import-hooks.ts').href, {
    data: { port: port2, active, packageIsModule },
    transferList: [port2],
  });
  reports = port1;
  return () => {
    Atomics.store(active, 0, 0);
  };
}

function installHere(register: NonNullable<typeof registerHooks>): () => void {
  const hooks = new GenerationHooks(note, packageIsModule);
  const registered = register({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      if (parentURL === undefined) return next(specifier, context);
      const required = isRequire(context);
      const inner = { ...context, parentURL: withoutGeneration(parentURL) };
      const resolved = next(hooks.inward(specifier, parentURL, required), inner);
      return hooks.outward(resolved, specifier, parentURL, required);
    },
    load(url, context, next) {
      hooks.beforeLoad(url, context.format);
      return hooks.afterLoad(next(withoutGeneration(url), context), url);
    },
  });
  return () => registered.deregister();
}

function note(report: Report): void {
  if ('loaded' in report) {
    // Deleted first, so that the newest is last.
    loaded.delete(report.loaded);
    loaded.set(report.loaded, { hash: report.hash, format: report.format });
    return;
  }
  const children = imports.get(report.parent);
  if (children === undefined) imports.set(report.parent, new Set([report.url]));
  else children.add(report.url);
}

/** Takes the reports of the hooks thread. It posts a report before the import goes on, so none is missing at its end. */
function drain(): void {
  if (reports === undefined) return;
  for (;;) {
    const received = receiveMessageOnPort(reports);
    if (received === undefined) return;
    note(received.message as Report);
  }
}

/**
 * All files that `entry` (a URL with its generation) has imported so far, directly or not. A file that a handler imports
 * later is found by a later call.
 */
export function graphOf(entry: string): Graph {
  drain();
  const generation = generationOf(entry);
  const required = requiredFiles();
  const files = new Map<string, string>();
  const modules: string[] = [];
  const requiredModules: string[] = [];
  let complete = true;
  const seen = new Set<string>();
  const queue = [entry];
  for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
    if (seen.has(url)) continue;
    seen.add(url);
    const path = fileURLToPath(withoutMarks(url));
    const isModule = required.isModule(path);
    if (isModule) requiredModules.push(path);
    if (!loaded.has(url) && (isModule || !required.isCached(path))) complete = false;
    files.set(path, hashAsLoaded(path, generation, url));
    for (const child of required.of(path)) queue.push(pathToFileURL(child).href);
    for (const child of imports.get(url) ?? []) {
      // Imports of other generations are skipped: the plain URL of a CommonJS parent collects those of all generations.
      if (generationOf(child) === generation || generationOf(child) === 0) queue.push(child);
    }
  }
  for (const [url, { format }] of loaded) {
    if (seen.has(url) && format !== 'commonjs' && format !== 'json') modules.push(url);
  }
  return { files, complete, modules, requiredModules };
}

function hashAsLoaded(path: string, generation: number, url: string): string {
  const key = `${generation} ${path}`;
  // A required file keeps the URL of its first generation, and without registerHooks no hook reports that it was read.
  const isTold = registerHooks !== undefined || generationOf(url) === generation;
  const told = isTold ? loaded.get(url)?.hash : undefined;
  const hash = hashes.get(key) ?? told ?? hashFile(path) ?? '';
  hashes.set(key, hash);
  return hash;
}
