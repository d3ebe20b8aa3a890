import { existsSync, realpathSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { StartupError } from '../base/startup-error.ts';
import { whileLoading } from '../base/thread-role.ts';
import {
  type BroadcastContext,
  type BroadcastReplay,
  type DeclaredBroadcast,
  type SetupContext,
  ThreadBroadcasts,
} from '../procedures/broadcast.ts';
import {
  type AnyRouter,
  type ProcedureSource,
  Router,
  replaceTable,
} from '../procedures/router.ts';
import type { ModuleState, Procedure } from '../procedures/types.ts';
import { offerPackage, purgeRequired, requireAnew } from './common-js.ts';
import { guardExit } from './exit-guard.ts';
import {
  areHooksCheap,
  enterGeneration,
  type Files,
  graphOf,
  installHooks,
  recordRequired,
} from './import-graph.ts';
import { type LoadControl, orAborted, summaryWithPlace, toLoadError } from './load-error.ts';
import { locateModule, type ModuleFile } from './module-files.ts';
import {
  DefaultRouterWatch,
  exportOf,
  kindOf,
  type ModuleRouter,
  noteLoad,
} from './module-router.ts';
import { packageName, requiredEntry, withGeneration } from './module-url.ts';
import { ensureTypeScript, isTypeScript } from './typescript.ts';

interface LoadOptions extends LoadControl {
  /** 0: the modules that a plain import returns. Any other number: new copies of all user files. */
  readonly generation: number;
  /** In a worker thread: record every file, and not only those that are required. */
  readonly tracksImports?: boolean | undefined;
}

/** Procedure modules that were imported, merged into one router. */
export class LoadedModules {
  /** The procedures of all modules, in order. Each knows its source and the state of its module. */
  readonly router = new Router();
  /** What the modules export as `broadcasts`. */
  readonly broadcasts = new ThreadBroadcasts();
  /** Modules without a procedure, as they were named. */
  readonly empty: string[] = [];
  readonly modules: ModuleLifecycle[] = [];
  /** The URLs of the modules, with their generation. */
  readonly #entries: string[] = [];
  readonly #table = new Map<string, Procedure>();
  readonly #sources = new Map<string, ProcedureSource>();
  #complete = true;

  /**
   * All files that the modules have imported so far, directly or not, with hashes of their content; without dependencies and
   * this package.
   */
  get files(): Files {
    return new Map(this.#entries.flatMap((entry) => [...graphOf(entry).files]));
  }

  /** Whether handlers may import further files. */
  get mayImport(): boolean {
    return this.#entries.some((entry) => graphOf(entry).mayImport);
  }

  /** False if other code had imported a module before, so that its imports are not known. */
  get complete(): boolean {
    return this.#complete;
  }

  /** @throws StartupError */
  add(
    file: ModuleFile,
    namespace: Exports,
    { table, router }: ModuleRouter,
    generation: number,
  ): void {
    const moduleState: ModuleState = { value: undefined };
    if (table.size === 0) this.empty.push(file.given);
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
    const procedures = [...table.values()];
    const module = new ModuleLifecycle(file, namespace, procedures, moduleState, generation);
    for (const [name, declared] of module.broadcasts) {
      const other = this.broadcasts.of(name);
      if (other !== undefined) {
        throw new StartupError(
          `cannot load ${file.given}: its broadcast ${JSON.stringify(name)} is in ${other.module} too; rename one`,
        );
      }
      this.broadcasts.add(name, declared);
    }
    this.modules.push(module);
    const entry = withGeneration(file.url, generation);
    const { complete, requiredModules } = graphOf(entry);
    if (generation > 0 && requiredModules[0] !== undefined) {
      throw new StartupError(
        `cannot reload ${file.given}: it requires the ES module ${requiredModules[0]}, which Node can't load again; import it instead, or restart`,
      );
    }
    this.#entries.push(entry);
    this.#complete &&= complete;
    for (const holder of [router, this.router]) {
      noteLoad(holder, file.url, { entry, own: router });
    }
    replaceTable(this.router, this.#table, this.#sources);
  }

  /**
   * Runs the `setup()` of each module that has a procedure for this thread, in order; a module without procedures is set up
   * in every thread. Then runs the broadcasts that the thread has missed. Broadcasts that come meanwhile run after those.
   *
   * When a setup fails, the modules before it are torn down. When the caller gives up, they are torn down in the background;
   * a setup that hangs is torn down once it has ended.
   *
   * @throws StartupError, or the signal's reason
   */
  async setup(
    thread: ModuleThread = soleThread,
    { signal, onStage }: LoadControl = {},
  ): Promise<void> {
    const { replays, onBroadcastFailed } = thread;
    const replayed = this.broadcasts.replay(replays, onBroadcastFailed);
    try {
      for (const module of this.modules) {
        if (!module.enter(thread)) continue;
        onStage?.({ step: 'setup', module: module.given });
        await orAborted(module.start(), signal);
      }
      this.broadcasts.open();
      if (replays.length > 0) {
        const names = replays.map(({ name }) => `broadcasts.${name}`);
        onStage?.({ step: 'replay', module: names.join(', ') });
        await orAborted(replayed, signal);
      }
    } catch (error) {
      // An error of the teardown is dropped: the error of the setup is the cause.
      await orAborted(this.teardown(), signal).catch(() => {});
      throw error;
    }
  }

  /** Runs `teardown(state)` of each module whose setup has run, in reverse order. Throws the first error after all ran. */
  async teardown(): Promise<void> {
    this.broadcasts.end();
    const errors: unknown[] = [];
    for (const module of this.modules.toReversed()) {
      await module.stop().catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
  }
}

/**
 * Imports procedure modules and merges their routers.
 *
 * @param paths relative to the working directory, absolute, or file: URLs
 * @throws StartupError one line: what is wrong with which module, where; or the reason of `options.signal`
 */
export async function loadModules(
  paths: readonly string[],
  options: LoadOptions,
): Promise<LoadedModules> {
  const files = paths.map(locateModule);
  if (options.generation === 0) return load(files, 0, options);
  // One load at a time: one may purge from the require cache what another is filling in.
  const result = newest.then(() => {
    // The number of a generation that failed, or of another loader, is not used again.
    generations += 1;
    return load(files, generations, options);
  });
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
  const file = locateModule(path);
  installHooks(await ensureTypeScript([file.url]));
  await offerPackage(0);
  return importModule(file, 0);
}

let newest: Promise<unknown> = Promise.resolve();
let generations = 0;

async function load(
  files: readonly ModuleFile[],
  generation: number,
  { signal, onStage, tracksImports = false }: LoadOptions,
): Promise<LoadedModules> {
  signal?.throwIfAborted();
  const registered = await ensureTypeScript(files.map(({ url }) => url));
  if (tracksImports || needsHooks(files)) installHooks(registered);
  recordRequired();
  const before = enterGeneration(generation);
  const stale = generation > 0 ? purgeRequired(knownFiles(files)) : [];
  const { defaultRouter } = (await offerPackage(generation)) as { defaultRouter: AnyRouter };
  const allowExit = guardExit(generation);
  requireAnew(stale);
  allowExit();
  try {
    const loaded = new LoadedModules();
    for (const file of files) {
      const watch = new DefaultRouterWatch(defaultRouter);
      onStage?.({ step: 'import', module: file.given });
      const namespace = await whileLoading(file.given, () =>
        importModule(file, generation, signal),
      );
      loaded.add(file, namespace, watch.find(namespace, file.given, file.url), generation);
    }
    return loaded;
  } catch (error) {
    enterGeneration(before);
    throw error;
  } finally {
    if (generation > 0) await offerPackage(0);
  }
}

/**
 * A replica never reloads. Where hooks are not cheap, it needs them only for TypeScript, where `tandem-rpc` does not lead to
 * this copy of the package, and to record what handlers import.
 */
function needsHooks(files: readonly ModuleFile[]): boolean {
  return (
    isMainThread ||
    areHooksCheap ||
    files.some(({ url }) => {
      if (isTypeScript(url)) return true;
      try {
        return createRequire(url).resolve(packageName) !== fileURLToPath(requiredEntry);
      } catch {
        return true;
      }
    })
  );
}

/** All files that the modules import; undefined if they are not known. */
function knownFiles(files: readonly ModuleFile[]): string[] | undefined {
  const paths: string[] = [];
  for (const { url } of files) {
    const entry = newestEntries.get(url);
    const graph = entry === undefined ? undefined : graphOf(entry);
    if (graph?.complete !== true) return undefined;
    paths.push(...graph.files.keys());
  }
  return paths;
}

type Exports = Readonly<Record<string, unknown>>;

/** The URLs, with their generation, by which modules were last imported. That import may have failed. */
const newestEntries = new Map<string, string>();

/**
 * @param signal aborting it gives the import up: the promise rejects with the signal's reason
 * @throws StartupError that says what is wrong with the module, or with what it imports
 */
async function importModule(
  file: ModuleFile,
  generation: number,
  signal?: AbortSignal,
): Promise<Exports> {
  const url = withGeneration(file.url, generation);
  newestEntries.set(file.url, url);
  const failures: unknown[] = [];
  const release = holdBackRejections(failures);
  const allowExit = guardExit(generation);
  const imported = import(url) as Promise<Exports>;
  // An import that was given up may go on, so the guard stays until the import ends.
  imported.then(allowExit, allowExit);
  try {
    const refusal = refuseOwnProgram(file, generation, imported);
    return await orAborted(Promise.race([imported, refusal]), signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof OwnProgramError) throw error;
    failures.push(error);
    await nextTurn(); // Node reports unhandled rejections at the end of this turn
    throw await toLoadError(error, file.given, graphOf(url).modules);
  } finally {
    failures.length = 0;
    release();
  }
}

class OwnProgramError extends StartupError {}

/** Imports that begin and end, one after another, after an import that ends: the hooks take them in their order. */
const laterImports = 3;

/**
 * Rejects if the module is the program of this process, and stands at a top-level `await`: mostly it awaits the start of this very
 * service, and the two would wait for each other. Else it never settles.
 */
async function refuseOwnProgram(
  file: ModuleFile,
  generation: number,
  imported: Promise<unknown>,
): Promise<never> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  imported.then(end, end);
  if (isMainThread && generation === 0 && isProgram(file.url)) {
    for (let i = 0; i < laterImports; i++) await import('node:module');
    if (!isOver) {
      throw new OwnProgramError(
        `cannot load ${file.given}: it is the program that starts the service, and it awaits the start, so that the two wait for each other; start the service in another file, which has ${file.given} in the option modules`,
      );
    }
  }
  return new Promise(() => {});
}

function isProgram(url: string): boolean {
  const [, program] = process.argv;
  if (program === undefined || !existsSync(program)) return false;
  return url === pathToFileURL(realpathSync(program)).href;
}

/**
 * Drops unhandled rejections with the errors in `known`. Node 20 reports an error that a CommonJS file throws, when an
 * ES module imports the file, twice: by the import, and as the unhandled rejection of a promise that nobody can reach.
 * The second report would end the process.
 *
 * @returns a function that ends this
 */
function holdBackRejections(known: readonly unknown[]): () => void {
  if ('registerHooks' in module) return () => {};
  const emit = Reflect.get(process, 'emit') as typeof process.emit;
  const filtered = function (this: NodeJS.Process, ...args: unknown[]): boolean {
    if (args[0] === 'unhandledRejection' && known.includes(args[1])) return true;
    return Reflect.apply(emit, this, args);
  };
  process.emit = filtered as typeof emit;
  return () => {
    // Somebody has wrapped `filtered` meanwhile: it stays in place, and passes every event on.
    if (process.emit === filtered) process.emit = emit;
  };
}

type Hook = (given?: unknown) => unknown;

/** The thread that modules are loaded in. */
interface ModuleThread extends SetupContext {
  /** Whether calls of a procedure may come to this thread. */
  readonly runs: (procedure: Procedure) => boolean;
  /** Broadcasts that the thread has missed, as it starts later. */
  readonly replays: readonly BroadcastReplay[];
  /** Told the name and the stack of each of these that has failed: the thread starts all the same. */
  readonly onBroadcastFailed: (name: string, detail: string) => void;
}

/** The thread of a router without a service: it runs everything. */
const soleThread: ModuleThread = {
  group: undefined,
  isMainThread: true,
  runs: () => true,
  replays: [],
  onBroadcastFailed: () => {},
};

/** The `setup()`, the `teardown(state)` and the `broadcasts` of one module. */
class ModuleLifecycle {
  /** The module as its user named it. */
  readonly given: string;
  readonly url: string;
  readonly teardown: Hook | undefined;
  readonly broadcasts: ReadonlyMap<string, DeclaredBroadcast>;
  readonly #setup: Hook | undefined;
  readonly #procedures: readonly Procedure[];
  readonly #state: ModuleState;
  readonly #generation: number;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  /** What `setup` and the broadcasts are told of the thread. */
  #thread: SetupContext = soleThread;
  #isSkipped = false;

  /** @throws StartupError for an export `setup` or `teardown` that is not a function, and for `broadcasts` of other things */
  constructor(
    file: ModuleFile,
    namespace: Exports,
    procedures: readonly Procedure[],
    state: ModuleState,
    generation: number,
  ) {
    this.given = file.given;
    this.url = file.url;
    this.#setup = this.#hookOf(namespace, 'setup');
    this.teardown = this.#hookOf(namespace, 'teardown');
    this.broadcasts = this.#broadcastsOf(namespace);
    this.#procedures = procedures;
    this.#state = state;
    this.#generation = generation;
  }

  /** Returns whether `setup` is for a thread. */
  enter({ group, isMainThread, runs }: ModuleThread): boolean {
    if (this.#isSkipped) return false;
    this.#thread = { group, isMainThread };
    const procedures = this.#procedures;
    if (this.#setup === undefined || procedures.length === 0 || procedures.some(runs)) return true;
    this.#isSkipped = true;
    // A caller within the process (`createCaller`) can run any procedure here: it must not find another type of state.
    const { given } = this;
    Object.defineProperty(this.#state, 'value', {
      get: () => {
        throw new Error(
          `setup() of ${given} did not run in this thread, since none of its procedures is placed here: call them through the service`,
        );
      },
    });
    return false;
  }

  /** Runs setup() once and keeps its value as the module's state. Call `enter` first. @throws StartupError */
  start(): Promise<void> {
    this.#starting ??= this.#run('setup', async () => {
      const release = guardExit(this.#generation);
      try {
        this.#state.value = await this.#setup?.(this.#thread);
      } finally {
        release();
      }
    });
    return this.#starting;
  }

  /** Runs teardown(state) once, if setup has run. @throws StartupError */
  stop(): Promise<void> {
    this.#stopping ??= this.#starting?.then(
      () => this.#run('teardown', async () => void (await this.teardown?.(this.#state.value))),
      () => {},
    );
    return this.#stopping ?? Promise.resolve();
  }

  async #run(name: string, call: () => Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      const text = `${name}() of ${this.given} failed: ${summaryWithPlace(error)}`;
      throw new StartupError(text, { cause: error });
    }
  }

  #broadcastsOf(namespace: Exports): ReadonlyMap<string, DeclaredBroadcast> {
    const exported = exportOf(namespace, 'broadcasts');
    const broadcasts = new Map<string, DeclaredBroadcast>();
    if (exported === undefined) return broadcasts;
    const fail = (what: string): never => {
      throw new StartupError(
        `cannot use ${this.given}: its export "broadcasts" must be an object of functions, ${what}`,
      );
    };
    if (typeof exported !== 'object' || exported === null || Array.isArray(exported))
      fail(`it is ${kindOf(exported)}`);
    for (const [name, run] of Object.entries(exported as object) as [string, unknown][]) {
      if (typeof run !== 'function') fail(`its member ${JSON.stringify(name)} is ${kindOf(run)}`);
      broadcasts.set(name, {
        module: this.given,
        run: (params, context) => Reflect.apply(run as Hook, exported, [params, context]),
        context: () => this.#broadcastContext(),
      });
    }
    return broadcasts;
  }

  #broadcastContext(): BroadcastContext {
    return { ...this.#thread, state: this.#isSkipped ? undefined : this.#state.value };
  }

  #hookOf(namespace: Exports, name: string): Hook | undefined {
    const value = exportOf(namespace, name);
    if (value === undefined || typeof value === 'function') return value as Hook | undefined;
    throw new StartupError(
      `cannot use ${this.given}: its export "${name}" must be a function, it is ${value === null ? 'null' : `of type ${typeof value}`}`,
    );
  }
}
