import module, { type LoadHookContext, type ResolveHookContext } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { requiredFiles } from './common-js.ts';
import { GenerationHooks, hashFile, isRequire, type Report } from './import-hooks.ts';
import {
  generationOf,
  ownExtension,
  packageIsModule,
  withoutGeneration,
  withoutMarks,
} from './module-url.ts';

export { hashFile } from './import-hooks.ts';

/** Absolute path -> hash of its content as it was loaded. */
export type Files = ReadonlyMap<string, string>;

export interface Graph {
  readonly files: Files;
  /** False where something was loaded before the hooks were there: what it imports is not known. */
  readonly complete: boolean;
  /** ES modules that were read, newest last: where a syntax error without a place is looked for. */
  readonly modules: readonly string[];
  /** ES modules that CommonJS has required: Node keeps them for good, no generation can renew them. */
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

/** Not in the types of Node 20: since 22.15. Runs in this thread and sees `require` too. */
const { registerHooks } = module as unknown as {
  registerHooks?: (hooks: SyncHooks) => { deregister(): void };
};

const imports = new Map<string, Set<string>>();
const loaded = new Map<string, { readonly hash: string; readonly format: string }>();
/** Content hashes by path and generation: a required file has one URL in every generation. */
const hashes = new Map<string, string>();

let reports: MessagePort | undefined;
let uninstall: (() => void) | undefined;

/** Idempotent. `again`: other hooks were added since; these must be the outermost. */
export function installHooks(again: boolean): void {
  if (uninstall !== undefined && !again) return;
  drain();
  uninstall?.();
  uninstall = registerHooks === undefined ? installInHooksThread() : installHere(registerHooks);
}

function installInHooksThread(): () => void {
  const { port1, port2 } = new MessageChannel();
  const active = new Int32Array(new SharedArrayBuffer(4)).fill(1);
  module.register(`./import-hooks${ownExtension}`, {
    parentURL: import.meta.url,
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
    // Re-inserted, so that the newest is last.
    loaded.delete(report.loaded);
    loaded.set(report.loaded, { hash: report.hash, format: report.format });
    return;
  }
  const children = imports.get(report.parent);
  if (children === undefined) imports.set(report.parent, new Set([report.url]));
  else children.add(report.url);
}

/** Reports are posted before the import they belong to goes on, so that they are here when it has ended. */
function drain(): void {
  if (reports === undefined) return;
  for (;;) {
    const received = receiveMessageOnPort(reports);
    if (received === undefined) return;
    note(received.message as Report);
  }
}

/**
 * Everything that `entry` (a URL with its generation) imports, as known by now: what is imported later,
 * in a handler, is found by a later call.
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
      // The plain URL of a CommonJS parent has the imports of every generation.
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
  // A required file has the URL of its first generation, and without registerHooks nothing tells that it was read.
  const isTold = registerHooks !== undefined || generationOf(url) === generation;
  const told = isTold ? loaded.get(url)?.hash : undefined;
  const hash = hashes.get(key) ?? told ?? hashFile(path) ?? '';
  hashes.set(key, hash);
  return hash;
}

/** Has any of them another content now, or gone? */
export function haveChanged(files: Files): boolean {
  for (const [path, hash] of files) if (hashFile(path) !== hash) return true;
  return false;
}
