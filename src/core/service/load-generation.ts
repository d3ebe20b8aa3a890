import { fileURLToPath } from 'node:url';
import { messageOf } from '../base/message-of.ts';
import { aWorkerOf } from '../base/place.ts';
import { StartupError } from '../base/startup-error.ts';
import type { Crew } from '../config/groups.ts';
import type { OpenStreams } from '../dispatch/streams/open-streams.ts';
import {
  describeStage,
  hangHint,
  type LoadControl,
  type LoadStage,
  orAborted,
} from '../modules/load-error.ts';
import { locateModule, SourceFiles } from '../modules/module-files.ts';
import { type LoadedModules, loadModules } from '../modules/modules.ts';
import { workerExecArgv } from '../modules/typescript.ts';
import { fingerprint } from '../procedures/document/introspect.ts';
import type { Expected } from '../workers/options.ts';
import { Pool } from '../workers/pool.ts';
import { ChangedFileError } from '../workers/worker.ts';
import type { ServiceContext } from './context.ts';
import { createStreams, Generation, teardownWithin } from './generation.ts';
import { usedGroups, warnOfNoProcedures } from './servable.ts';
import { workerLog } from './worker-log.ts';

/**
 * How long new code is watched in its worker before the serving thread loads that code. Code that throws late mostly
 * throws at once, or when its first connection is refused.
 */
const settleMs = 200;

/** How long the teardown of modules that never served may take. */
const teardownMs = 1000;

/**
 * Called when no worker is left in one of the pools and no replacement can be had, since the files have changed.
 *
 * @param loaded undefined: the pool is of a generation that still loads
 */
export type OnOutdated = (loaded: Generation | undefined, pool: Pool) => void;

/** One loading of the modules. A loading may fail, or be given up, at any step: nothing of it is left then. */
export class GenerationLoad {
  readonly #paths: readonly string[];
  readonly #context: ServiceContext;
  readonly #streams: OpenStreams;
  readonly #givenUp: AbortSignal;
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  #modules: LoadedModules | undefined;
  readonly #pools = new Map<string | undefined, Pool>();
  readonly #onOutdated: OnOutdated;
  #loaded: Generation | undefined;
  #discarding: Promise<void> = Promise.resolve();

  /** @param givenUp gives the loading up: `first` and `next` then reject with the signal's reason */
  constructor(
    paths: readonly string[],
    context: ServiceContext,
    onOutdated: OnOutdated,
    givenUp: AbortSignal,
  ) {
    this.#paths = paths;
    this.#context = context;
    this.#onOutdated = onOutdated;
    this.#streams = createStreams(context);
    this.#givenUp = givenUp;
    this.#signal = AbortSignal.any([givenUp, this.#failed.signal]);
  }

  /**
   * Loads the modules at the start of a service: on this thread, then in every worker. Nobody is served yet whom
   * faulty code could harm.
   *
   * @throws StartupError, ChangedFileError, or the signal's reason
   */
  first(): Promise<Generation> {
    return this.#orDiscard(async () => {
      const modules = await this.#loadHere(0, undefined);
      const sources = new SourceFiles(modules.files);
      const expected = { fingerprint: fingerprint(modules.router), sources };
      for (const group of [undefined, ...this.#groupsOf(modules)]) this.#startPool(group, expected);
      await this.#workersReady((aWorker) => `${aWorker} could not start`);
      return this.#finish(modules, sources);
    });
  }

  /**
   * Loads the modules while an older loading serves: first in one worker. This thread and the other workers load only
   * modules that loaded, registered and were set up in that worker, and threw nothing there. The workers of groups come
   * last, since only the procedures say which groups there are.
   *
   * @throws StartupError, ChangedFileError, or the signal's reason
   */
  next(): Promise<Generation> {
    return this.#orDiscard(async () => {
      const { workers } = this.#startPool(undefined, undefined);
      const { loaded, failure } = workers.startup;
      const inWorker = <T>(step: Promise<T>): Promise<T> =>
        this.#ofWorkers(Promise.race([step, failure]), 'tried in a worker');
      const { fingerprint: tried, files } = await inWorker(loaded);
      const expected = { fingerprint: tried, sources: new SourceFiles(files ?? new Map()) };
      workers.expect(expected);
      await inWorker(workers.settle(settleMs));
      const modules = await Promise.race([this.#loadHere(1, expected), inWorker(failure)]);
      for (const group of this.#groupsOf(modules)) this.#startPool(group, expected);
      const ready = this.#workersReady((aWorker) => `tried in ${aWorker}`);
      await Promise.race([ready, inWorker(failure)]);
      await inWorker(workers.settle(0));
      const sources = new SourceFiles(new Map([...expected.sources.files, ...modules.files]));
      const changed = sources.changed();
      if (changed !== undefined) throw new ChangedFileError(changed);
      workers.passTrial();
      return this.#finish(modules, sources);
    });
  }

  /** Resolves when nothing is left of a load that failed or was given up, except for what hangs. */
  get discarded(): Promise<void> {
    return this.#discarding;
  }

  async #loadHere(generation: number, expected: Expected | undefined): Promise<LoadedModules> {
    const limitMs = this.#context.config.startTimeoutMs;
    const late = new AbortController();
    let stage: LoadStage | undefined;
    const timer = setTimeout(() => {
      const what = stage === undefined ? 'it' : describeStage(stage);
      const message = `${what} had not ended on the main thread after ${limitMs} ms: ${hangHint}`;
      late.abort(new StartupError(message));
    }, limitMs);
    const control: LoadControl = {
      signal: AbortSignal.any([this.#signal, late.signal]),
      onStage: (next) => {
        stage = next;
      },
    };
    try {
      const modules = await loadModules(this.#paths, { generation, ...control });
      this.#modules = modules;
      if (expected !== undefined) assertSame(modules, expected, this.#paths);
      await modules.setup(control);
      return modules;
    } finally {
      clearTimeout(timer);
    }
  }

  #groupsOf({ router }: LoadedModules): string[] {
    const { config, log } = this.#context;
    return usedGroups(router, Object.keys(config.groups), log);
  }

  /**
   * Every worker of every group is ready.
   *
   * @param what see `#ofWorkers`
   */
  async #workersReady(what: (aWorker: string) => string): Promise<void> {
    const all = Array.from(this.#pools, ([group, pool]) =>
      this.#ofWorkers(pool.ready(), what(aWorkerOf(group))),
    );
    await Promise.all(all);
  }

  #startPool(group: string | undefined, expected: Expected | undefined): Pool {
    const { config, log, observation, poolCounters, bodies, shares } = this.#context;
    // Each path is resolved once for all workers: a link that is changed meanwhile must not give two workers two
    // modules.
    const modules = this.#paths.map((path) => fileURLToPath(locateModule(path, process.cwd()).url));
    const own = group === undefined ? config : (config.groups[group] as Crew);
    const options = {
      ...config,
      ...own,
      group,
      modules,
      expected,
      execArgv: workerExecArgv(modules),
      replica: { ...config, maxWorkerMemory: own.maxWorkerMemory },
      counters: poolCounters.of(group),
      bodies,
      shares,
      streams: this.#streams,
    };
    const events = {
      ...workerLog(log, group),
      onOutdated: () => this.#onOutdated(this.#loaded, pool),
    };
    const pool = new Pool(options, observation, events);
    this.#pools.set(group, pool);
    return pool;
  }

  #finish(modules: LoadedModules, sources: SourceFiles): Generation {
    for (const given of modules.empty)
      warnOfNoProcedures(`the router of ${given}`, this.#context.log);
    const loaded = { modules, pools: this.#pools, streams: this.#streams, sources };
    this.#loaded = new Generation(this.#context, modules.router, loaded);
    return this.#loaded;
  }

  /** @param what the beginning of the error's message, before what went wrong in the worker */
  async #ofWorkers<T>(step: Promise<T>, what: string): Promise<T> {
    try {
      return await orAborted(step, this.#signal);
    } catch (error) {
      if (this.#signal.aborted || error instanceof ChangedFileError) throw error;
      const message = messageOf(error);
      throw new StartupError(`${what}: ${message}`, { cause: error });
    }
  }

  async #orDiscard(load: () => Promise<Generation>): Promise<Generation> {
    try {
      return await load();
    } catch (error) {
      this.#failed.abort(error);
      this.#discarding = this.#discard();
      // Whoever gave the load up does not wait for this; `discarded` resolves when it has ended.
      if (!this.#givenUp.aborted) await this.#discarding;
      throw error;
    }
  }

  async #discard(): Promise<void> {
    const { startTimeoutMs } = this.#context.config;
    const { aborted } = this.#givenUp;
    const pools = [...this.#pools.values()];
    await Promise.all(pools.map((pool) => pool.close(0, startTimeoutMs, aborted)));
    if (this.#modules === undefined) return;
    // The caller is told why the load failed, not that the teardown failed too.
    await teardownWithin(this.#modules, teardownMs).catch(() => undefined);
  }
}

function assertSame(
  modules: LoadedModules,
  { fingerprint: expected, sources }: Expected,
  paths: readonly string[],
): void {
  const file = sources.differsFrom(modules.files);
  if (file !== undefined) throw new ChangedFileError(file);
  if (fingerprint(modules.router) === expected) return;
  throw new StartupError(
    `the modules registered other procedures, or other middleware, in the main thread than in a worker (${paths.join(', ')}): ` +
      'registration must not depend on the thread, the time or chance',
  );
}
