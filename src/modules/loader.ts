import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { StartupError } from '../base/startup-error.ts';
import { type ProcedureSource, Router, replaceTable } from '../router/router.ts';
import type { ModuleState, Procedure } from '../router/types.ts';
import { offerPackage, purgeRequired, requireAnew } from './common-js.ts';
import { guardExit } from './exit-guard.ts';
import { type Files, graphOf, installHooks } from './import-graph.ts';
import { type LoadControl, orAborted } from './load-stage.ts';
import { locateModule, type ModuleFile } from './module-file.ts';
import { importModule, newestEntry } from './module-import.ts';
import { createLifecycle, type ModuleLifecycle } from './module-lifecycle.ts';
import { noteLoad } from './module-loads.ts';
import { DefaultRouterWatch, type ModuleRouter } from './module-router.ts';
import { packageEntry, packageName, withGeneration } from './module-url.ts';
import { ensureTypeScript, isTypeScript } from './typescript.ts';

export interface LoadOptions extends LoadControl {
  /** 0: the instances that a plain import gives. Any other number: new copies of all user files. */
  readonly generation: number;
  /** What relative paths are relative to. Default: process.cwd(). */
  readonly cwd?: string | undefined;
  /** In a worker thread, too: `files` are wanted. */
  readonly tracksFiles?: boolean | undefined;
}

export interface LoadedModules {
  /** All of the modules' procedures, in order; each knows its source and its module's state. */
  readonly router: Router;
  /**
   * Every file of the modules' import graph but dependencies and this package, with its content hash.
   * In a worker thread that needs no hooks and was not asked for them: the modules themselves.
   */
  readonly files: Files;
  /** False where a module was imported before by somebody else, so that its imports are not known. */
  readonly complete: boolean;
  readonly modules: readonly ModuleLifecycle[];
  /**
   * Runs each module's `setup()`, in order. When one fails, those before it are torn down; when it is given up,
   * they are torn down behind the caller's back, the one that hangs as soon as it has ended.
   *
   * @throws StartupError, or the signal's reason
   */
  readonly setup: (control?: LoadControl) => Promise<void>;
  /** Runs each `teardown(state)` whose setup has run, in reverse. All run, then the first error throws. */
  readonly teardown: () => Promise<void>;
}

/**
 * Imports procedure modules and takes their routers together.
 *
 * @param paths relative to `cwd`, absolute, or file: URLs
 * @throws StartupError one line: what is wrong with which module, where; or the reason of `options.signal`
 */
export async function loadModules(
  paths: readonly string[],
  options: LoadOptions,
): Promise<LoadedModules> {
  const cwd = options.cwd ?? process.cwd();
  const files = paths.map((path) => locateModule(path, cwd));
  if (options.generation === 0) return load(files, 0, options);
  // One at a time: what one purges from the require cache another may be about to fill.
  const result = newest.then(() => load(files, nextGeneration(), options));
  newest = result.catch(() => {});
  return result;
}

/**
 * Imports a module of other things than procedures, the way theirs are: TypeScript is loaded, and this
 * package's name leads to this copy.
 *
 * @param path relative to the working directory, absolute, or a file: URL
 * @throws StartupError one line: what is wrong with it, where
 */
export async function loadExports(path: string): Promise<Readonly<Record<string, unknown>>> {
  const file = locateModule(path, process.cwd());
  installHooks(await ensureTypeScript([file.url]));
  await offerPackage(0);
  return importModule(file, 0);
}

let newest: Promise<unknown> = Promise.resolve();
let generations = 0;

/** Counts for the whole thread: a generation that failed or belongs to somebody else is never met again. */
function nextGeneration(): number {
  generations += 1;
  return generations;
}

async function load(
  files: readonly ModuleFile[],
  generation: number,
  { signal, onStage, tracksFiles = false }: LoadOptions,
): Promise<LoadedModules> {
  signal?.throwIfAborted();
  const registered = await ensureTypeScript(files.map(({ url }) => url));
  if (tracksFiles || needsHooks(files)) installHooks(registered);
  const stale = generation > 0 ? purgeRequired(knownFiles(files)) : [];
  const { defaultRouter } = (await offerPackage(generation)) as { defaultRouter: Router };
  const allowExit = guardExit(generation);
  requireAnew(stale);
  allowExit();
  try {
    const merged = new Merged();
    for (const file of files) {
      const watch = new DefaultRouterWatch(defaultRouter);
      onStage?.({ step: 'import', module: file.given });
      const namespace = await importModule(file, generation, signal);
      merged.add(file, namespace, watch.find(namespace, file.given, file.url), generation);
    }
    return merged.finish();
  } finally {
    if (generation > 0) await offerPackage(0);
  }
}

/**
 * In a worker thread on Node 20 the hooks cost a thread more and 30 ms; a replica never reloads, so that
 * it needs them only for TypeScript, and where the package's name does not lead to this copy.
 */
function needsHooks(files: readonly ModuleFile[]): boolean {
  if (isMainThread) return true;
  return files.some(({ url }) => isTypeScript(url) || !leadsHere(url));
}

function leadsHere(url: string): boolean {
  try {
    return createRequire(url).resolve(packageName) === fileURLToPath(packageEntry);
  } catch {
    return false;
  }
}

/** undefined where what the modules import is not known. */
function knownFiles(files: readonly ModuleFile[]): string[] | undefined {
  const paths: string[] = [];
  for (const { url } of files) {
    const entry = newestEntry(url);
    const graph = entry === undefined ? undefined : graphOf(entry);
    if (graph?.complete !== true) return undefined;
    paths.push(...graph.files.keys());
  }
  return paths;
}

/** Takes modules in one by one. */
class Merged {
  readonly #router = new Router();
  readonly #table = new Map<string, Procedure>();
  readonly #sources = new Map<string, ProcedureSource>();
  readonly #files = new Map<string, string>();
  readonly #lifecycles: ModuleLifecycle[] = [];
  #complete = true;

  add(
    file: ModuleFile,
    namespace: Readonly<Record<string, unknown>>,
    { table, router }: ModuleRouter,
    generation: number,
  ): void {
    const moduleState: ModuleState = { value: undefined };
    for (const [name, procedure] of table) {
      const other = this.#sources.get(name);
      if (other !== undefined) {
        throw new StartupError(
          `cannot load ${file.given}: its procedure ${JSON.stringify(name)} is in ${fileURLToPath(other.url)} too; rename one, or merge them with a prefix`,
        );
      }
      this.#table.set(name, Object.freeze({ ...procedure, moduleState }));
      this.#sources.set(name, { url: file.url, name });
    }
    this.#lifecycles.push(createLifecycle(file, namespace, moduleState, generation));
    const entry = withGeneration(file.url, generation);
    const { files, complete, requiredModules } = graphOf(entry);
    if (generation > 0 && requiredModules[0] !== undefined) {
      throw new StartupError(
        `cannot reload ${file.given}: it requires the ES module ${requiredModules[0]}, which Node can't load again; import it instead, or restart`,
      );
    }
    for (const [path, hash] of files) this.#files.set(path, hash);
    this.#complete &&= complete;
    for (const holder of [router, this.#router]) {
      noteLoad(holder, file.url, { entry, own: router });
    }
  }

  finish(): LoadedModules {
    replaceTable(this.#router, this.#table, this.#sources);
    const lifecycles = this.#lifecycles;
    const teardown = async (): Promise<void> => {
      const errors: unknown[] = [];
      for (const lifecycle of [...lifecycles].reverse()) {
        await lifecycle.stop().catch((error: unknown) => errors.push(error));
      }
      if (errors.length > 0) throw errors[0];
    };
    return {
      router: this.#router,
      files: this.#files,
      complete: this.#complete,
      modules: lifecycles,
      teardown,
      async setup({ signal, onStage } = {}) {
        try {
          for (const lifecycle of lifecycles) {
            onStage?.({ step: 'setup', module: lifecycle.given });
            await orAborted(lifecycle.start(), signal);
          }
        } catch (error) {
          // Why the setup failed is what matters; what was set up before must not stay open.
          await orAborted(teardown(), signal).catch(() => {});
          throw error;
        }
      },
    };
  }
}
