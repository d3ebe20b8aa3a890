import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { StartupError } from '../base/startup-error.ts';
import { Router, replaceTable } from '../router/router.ts';
import type { AnyRouter, ProcedureSource } from '../router/router-state.ts';
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
import { packageName, requiredEntry, withGeneration } from './module-url.ts';
import { ensureTypeScript, isTypeScript } from './typescript.ts';

export interface LoadOptions extends LoadControl {
  /** 0: the modules that a plain import returns. Any other number: new copies of all user files. */
  readonly generation: number;
  /** The folder of relative paths. Default: process.cwd(). */
  readonly cwd?: string | undefined;
  /** Record `files` in a worker thread too. */
  readonly tracksFiles?: boolean | undefined;
}

export interface LoadedModules {
  /** The procedures of all modules, in order. Each knows its source and the state of its module. */
  readonly router: Router;
  /**
   * All files that the modules import, directly or not, with hashes of their content; without dependencies and this
   * package. In a worker thread that has no hooks: only the modules themselves.
   */
  readonly files: Files;
  /** Modules without a procedure, as they were named. */
  readonly empty: readonly string[];
  /** False where other code had imported a module before, so that its imports are not known. */
  readonly complete: boolean;
  readonly modules: readonly ModuleLifecycle[];
  /**
   * Runs the `setup()` of each module, in order. When one fails, the modules before it are torn down. When the caller
   * gives up, they are torn down in the background; a setup that hangs is torn down once it has ended.
   *
   * @throws StartupError, or the signal's reason
   */
  readonly setup: (control?: LoadControl) => Promise<void>;
  /** Runs `teardown(state)` of each module whose setup has run, in reverse order. Throws the first error after all ran. */
  readonly teardown: () => Promise<void>;
}

/**
 * Imports procedure modules and merges their routers.
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
  // One load at a time: one may purge from the require cache what another is filling in.
  const result = newest.then(() => load(files, nextGeneration(), options));
  newest = result.catch(() => {});
  return result;
}

/**
 * Imports a module that has no procedures (hooks) in the same way as procedure modules: it may be TypeScript, and
 * `tandem-rpc` leads to this copy of the package.
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

/** One counter for the whole thread: the number of a generation that failed, or of another loader, is not used again. */
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
  const { defaultRouter } = (await offerPackage(generation)) as { defaultRouter: AnyRouter };
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
 * In a worker thread on Node 20 the hooks cost another thread and 30 ms. A replica never reloads, so it needs the hooks
 * only for TypeScript, and where `tandem-rpc` does not lead to this copy of the package.
 */
function needsHooks(files: readonly ModuleFile[]): boolean {
  if (isMainThread) return true;
  return files.some(({ url }) => isTypeScript(url) || !leadsHere(url));
}

function leadsHere(url: string): boolean {
  try {
    return createRequire(url).resolve(packageName) === fileURLToPath(requiredEntry);
  } catch {
    return false;
  }
}

/** All files that the modules import; undefined where they are not known. */
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

/** Merges modules into one router, one by one. */
class Merged {
  readonly #router = new Router();
  readonly #table = new Map<string, Procedure>();
  readonly #sources = new Map<string, ProcedureSource>();
  readonly #files = new Map<string, string>();
  readonly #lifecycles: ModuleLifecycle[] = [];
  readonly #empty: string[] = [];
  #complete = true;

  add(
    file: ModuleFile,
    namespace: Readonly<Record<string, unknown>>,
    { table, router }: ModuleRouter,
    generation: number,
  ): void {
    const moduleState: ModuleState = { value: undefined };
    if (table.size === 0) this.#empty.push(file.given);
    for (const [name, procedure] of table) {
      const other = this.#sources.get(name);
      if (other?.url === file.url) {
        throw new StartupError(`module ${file.given} is named twice: leave one of the two out`);
      }
      if (other !== undefined) {
        throw new StartupError(
          `cannot load ${file.given}: its procedure ${JSON.stringify(name)} is in ${fileURLToPath(other.url)} too; rename one, or merge them with a prefix`,
        );
      }
      this.#table.set(name, Object.freeze({ ...procedure, moduleState }));
      this.#sources.set(name, { url: file.url, name, added: [] });
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
      empty: this.#empty,
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
          // Tear down what was set up before. An error of that is dropped: the error of the setup is the cause.
          await orAborted(teardown(), signal).catch(() => {});
          throw error;
        }
      },
    };
  }
}
