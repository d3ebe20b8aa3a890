import module, { type LoadHookContext, type ResolveHookContext } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
} from 'node:worker_threads';
import { ownFile } from '../base/package-files.ts';
import { requiredFiles, watchRequired } from './common-js.ts';
import {
  type FileContent,
  GenerationHooks,
  isRequire,
  type Report,
  type RequiredReport,
  readContent,
} from './import-hooks.ts';
import {
  generationOf,
  packageIsModule,
  withGeneration,
  withoutGeneration,
  withoutMarks,
} from './module-url.ts';

/** Absolute path -> hash of the content that was loaded. */
export type Files = ReadonlyMap<string, string>;

export interface Graph {
  readonly files: Files;
  /** False if a file was loaded before the hooks were installed: what that file imports is not known. */
  readonly complete: boolean;
  /** Whether a file may import others when a handler runs. */
  readonly mayImport: boolean;
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
const loaded = new Map<string, FileContent & { readonly format: string }>();
/** The hash of each file that was loaded last, by its path. */
const loadedPaths = new Map<string, string>();
/** By generation and path: a required file has the same URL in every generation. */
const contents = new Map<string, FileContent>();
const listeners = new Set<() => void>();

let reports: MessagePort | undefined;
let uninstall: (() => void) | undefined;
let watchesRequired = false;
/** The generation that is being loaded, or else serves: a required file has no mark of its own. */
let newestGeneration = 0;

/** Whether hooks for `import()` cost next to nothing: without registerHooks they take a thread of their own, 8 MB and 50 ms. */
export const areHooksCheap = registerHooks !== undefined;

/** @returns the number of the generation before */
export function enterGeneration(generation: number): number {
  const before = newestGeneration;
  newestGeneration = generation;
  return before;
}

/** Calls the listener when a file was loaded that was not known. @returns a function that ends this */
export function onFilesLoaded(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Another thread has loaded a file that was not known. */
export function tellFilesLoaded(): void {
  for (const listener of listeners) listener();
}

/** The user files that this thread has loaded, as far as they are recorded: in a worker without hooks those that were required. */
export function recordedFiles(): Files {
  drain();
  return loadedPaths;
}

/** Records files that are required, if no hook does that. Idempotent. */
export function recordRequired(): void {
  if (registerHooks !== undefined || watchesRequired) return;
  watchesRequired = true;
  watchRequired(noteRequired, (path) => loaded.delete(pathToFileURL(path).href));
}

function noteRequired(path: string, parent: string | undefined): void {
  drain();
  // On the main thread the program around the service requires files, too. In a worker all files are the modules'.
  if (isMainThread && !loadedPaths.has(parent ?? path)) return;
  const url = pathToFileURL(path).href;
  const content = readContent(path);
  note({ loaded: url, format: 'commonjs', ...content });
  if (!content.mayImport) return;
  installHooks(false);
  const report: RequiredReport = { required: url, generation: newestGeneration };
  reports?.postMessage(report);
}

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
  port1.on('message', note).unref();
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
    const { loaded: url, ...file } = report;
    loaded.delete(url);
    loaded.set(url, file);
    loadedPaths.set(fileURLToPath(withoutMarks(url)), file.hash);
    tellFilesLoaded();
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
  let mayImport = false;
  const seen = new Set<string>();
  const queue = [entry];
  for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
    if (seen.has(url)) continue;
    seen.add(url);
    const path = fileURLToPath(withoutMarks(url));
    const isModule = required.isModule(path);
    if (isModule) requiredModules.push(path);
    if (!loaded.has(url) && (isModule || !required.isCached(path))) complete = false;
    const content = contentAsLoaded(path, generation, url);
    files.set(path, content.hash);
    mayImport ||= content.mayImport;
    for (const child of required.of(path)) queue.push(pathToFileURL(child).href);
    const children = imports.get(url) ?? new Set();
    for (const child of children) {
      // Imports of other generations are skipped: the plain URL of a CommonJS parent collects those of all generations.
      const isRequired =
        generationOf(child) === 0 &&
        required.isCached(fileURLToPath(withoutMarks(child))) &&
        !children.has(withGeneration(child, generation));
      if (generationOf(child) === generation || isRequired) queue.push(child);
    }
  }
  for (const [url, { format }] of loaded) {
    if (seen.has(url) && format !== 'commonjs' && format !== 'json') modules.push(url);
  }
  return { files, complete, mayImport, modules, requiredModules };
}

function contentAsLoaded(path: string, generation: number, url: string): FileContent {
  const key = `${generation} ${path}`;
  const content = contents.get(key) ?? loaded.get(url) ?? readContent(path);
  contents.set(key, content);
  return content;
}
