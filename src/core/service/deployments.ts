import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import { StartupError } from '../base/startup-error.ts';
import { isDoneWithin } from '../base/timer.ts';
import { locateModule, watchFile } from '../modules/module-files.ts';
import type {
  BroadcastReplay,
  BroadcastRequest,
  BroadcastResult,
} from '../procedures/broadcast.ts';
import {
  type AnyRouter,
  Router,
  replaceTable,
  setServedReload,
  sourcesOf,
  tableOf,
} from '../procedures/router.ts';
import { limitedStrings } from '../schema/pattern-limits.ts';
import { ChangedFileError } from '../workers/loading.ts';
import type { WorkerBroadcasts } from '../workers/options.ts';
import { assertPossible, Replays, resultsWithin } from './broadcasts.ts';
import type { DispatcherOptions, ServiceContext } from './context.ts';
import { Deployment, type ModuleLoad } from './deployment.ts';
import {
  assertRunsInline,
  limitsOfPatterns,
  undeclaredResults,
  usedGroups,
  warnOfNoProcedures,
} from './servable.ts';

/**
 * The deployments of a service: the one that takes new requests, and older ones that still finish theirs. A reload
 * loads the next beside the current one and swaps the two in one step. So no call is lost, and no call sees two
 * deployments.
 *
 * A broadcast reaches in one step each thread that exists, those that a reload prepares too, and each thread that starts later
 * is given what is replayed as it starts. So a thread gets each broadcast once, and those of one name in their order, whatever
 * is replaced or reloaded meanwhile.
 */
export class Deployments implements WorkerBroadcasts {
  /** The procedures that are served now, as one object that stays the same through all reloads. */
  readonly router: AnyRouter;
  /** Takes new requests. undefined before the start and after the end. */
  current: Deployment | undefined;
  readonly #modules: readonly string[] | undefined;
  readonly #context: ServiceContext;
  /** Older deployments that still finish their requests. */
  readonly #retired = new Set<Deployment>();
  /** What the start or the reload that is in progress loads. */
  #next: Deployment | undefined;
  readonly #replays = new Replays();
  /** Gives up what is being loaded: see {@link reload} and {@link close}. */
  #givenUp = new AbortController();
  /** Of the last start or reload. */
  #outcome: Promise<boolean> = Promise.resolve(false);
  #closed = false;
  /** What was said last at a start or a reload, by event. */
  readonly #told = new Map<StartNote, string | undefined>();

  constructor(source: Pick<DispatcherOptions, 'modules' | 'router'>, context: ServiceContext) {
    this.#modules = source.modules;
    this.#context = context;
    this.router = source.router ?? new Router();
    if (source.modules !== undefined) setServedReload(this.router, (path) => this.reload(path));
  }

  /** All deployments that have not ended, the current one first. */
  get all(): readonly Deployment[] {
    return this.current === undefined ? [...this.#retired] : [this.current, ...this.#retired];
  }

  get inFlight(): number {
    let sum = this.current?.inFlight ?? 0;
    if (this.#retired.size === 0) return sum; // read at each request
    for (const retired of this.#retired) sum += retired.inFlight;
    return sum;
  }

  /** @throws StartupError */
  async start(): Promise<void> {
    const modules = this.#modules;
    if (modules === undefined) {
      const { config, log, cluster } = this.#context;
      assertRunsInline(this.router, log, cluster?.isGateway === true);
      usedGroups(this.router, Object.keys(config.groups), log);
      this.current = new Deployment(this.#context, this, this.router);
      return;
    }
    this.#outcome = this.#deploy(modules);
    await this.#outcome;
  }

  /**
   * Loads the modules anew, on this thread and in fresh workers, if they or anything they import have changed.
   *
   * If a reload is in progress, it gives up what it has loaded and loads once more: a file may have changed after that reload
   * had read it. Earlier requests get the same outcome.
   *
   * @param path one of the served modules; any other path is an error that names the served ones
   * @returns false when nothing has changed
   * @throws StartupError; the old modules then go on serving
   */
  async reload(path?: string): Promise<boolean> {
    const modules = this.#assertReloadable(path);
    if (this.#context.reloads.isUnderWay) this.#givenUp.abort();
    else this.#outcome = this.#reload(modules);
    return this.#outcome;
  }

  /**
   * Runs a broadcast. Threads of a deployment that a reload prepares run it too, and are not in the answer.
   *
   * @throws Error, TypeError (rejects) for names and params that cannot be, and if nothing serves
   */
  async send(request: BroadcastRequest): Promise<BroadcastResult[]> {
    const { config } = this.#context;
    const { name, params, group, timeoutMs = config.timeoutMs } = request;
    const { current } = this;
    if (current === undefined) throw new Error('broadcast: the service is closed');
    const groups = [...current.pools.keys()].filter((one) => one !== undefined);
    assertPossible(request, current.modules?.broadcasts.names, groups, config.maxBodyBytes);
    this.#replays.note(request);
    const run = { name, params, timeoutMs };
    for (const replica of this.#next?.replicas(group) ?? []) void replica.run(run);
    // Its threads are there until the answer is.
    current.enter();
    try {
      return await resultsWithin(current.replicas(group), run);
    } finally {
      current.leave();
    }
  }

  replaysFor(group: string | undefined): readonly BroadcastReplay[] {
    return this.#replays.for(group);
  }

  /** Resolves when no deployment has a request in flight, or after `graceMs`. */
  async idle(graceMs: number): Promise<void> {
    await Promise.all(this.all.map((one) => one.idle(graceMs)));
  }

  /** Lets the streams of all deployments come to their end, for `graceMs` at most. No more may open. */
  async endStreams(graceMs: number): Promise<void> {
    const { cluster } = this.#context;
    await Promise.all([
      cluster?.streams.drain('shutdown', graceMs, 0),
      ...this.all.map(({ streams }) => streams.drain('shutdown', graceMs, 0)),
    ]);
  }

  /** Gives up the start or reload that is in progress, and ends every deployment. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    const { all } = this;
    this.current = undefined;
    this.#givenUp.abort();
    // `allSettled`: a teardown that fails must not leave the other deployments running.
    const ended = await Promise.allSettled(all.map((one) => one.close(graceMs)));
    const discarded = this.#outcome.catch(() => {});
    await isDoneWithin(discarded, Math.max(graceMs, minDiscardMs));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  }

  #assertReloadable(path: string | undefined): readonly string[] {
    if (this.#modules === undefined) {
      throw new StartupError(
        'a router given as an object has no modules to reload: use its reloadModule',
      );
    }
    if (path !== undefined) {
      const { url } = locateModule(path);
      if (this.#modules.every((module) => locateModule(module).url !== url)) {
        const served = this.#modules.join(', ');
        throw new StartupError(`${path} is not among the served modules: ${served}`);
      }
    }
    if (this.current !== undefined) return this.#modules;
    const why = this.#closed ? 'is closed' : 'has not started: await ready() first';
    throw new StartupError(`nothing to reload: the service ${why}`);
  }

  async #reload(modules: readonly string[]): Promise<boolean> {
    const { observation, log } = this.#context;
    const began = clockMs();
    try {
      if (!(await this.#deploy(modules))) return false;
    } catch (error) {
      observation.counts.failedReloads++;
      throw error;
    }
    observation.counts.reloads++;
    const ms = Math.round(clockMs() - began);
    log.info({ event: 'reloaded', modules, ms }, 'reloaded');
    return true;
  }

  /**
   * Loads the modules until they serve: once more whenever this is asked for meanwhile, and a few times if their files
   * change meanwhile.
   *
   * @returns false: what serves is up to date
   * @throws StartupError
   */
  async #deploy(modules: readonly string[]): Promise<boolean> {
    const { reloads } = this.#context;
    reloads.isUnderWay = true;
    try {
      for (let left = tries; !this.#closed; ) {
        this.#givenUp = new AbortController();
        const { signal } = this.#givenUp;
        const old = this.current;
        const isUpToDate = await old?.isUpToDate(modules);
        if (signal.aborted) continue;
        if (isUpToDate) return false;
        const next = new Deployment(this.#context, this);
        this.#next = next;
        const load = { paths: modules, givenUp: signal, onOutdated: this.#onOutdated };
        try {
          await next.load(load, old === undefined && left === tries);
          if (!signal.aborted) {
            this.#swap(next);
            return true;
          }
          await next.close(0);
        } catch (error) {
          if (signal.aborted) left = tries;
          else await this.#untilComplete(error, --left, signal);
        }
      }
      throw new StartupError('the service was closed meanwhile');
    } finally {
      this.#next = undefined;
      reloads.isUnderWay = false;
    }
  }

  /** Waits for a file that was written while it was loaded. @throws any other fault; StartupError after the last try */
  async #untilComplete(error: unknown, left: number, signal: AbortSignal): Promise<void> {
    if (!(error instanceof ChangedFileError)) throw error;
    if (left === 0) {
      throw new StartupError(
        `${error.file} changed while it was being loaded, ${tries} times: try again when nobody writes it`,
        { cause: error },
      );
    }
    for (let look = 0; look < looks && !signal.aborted; look++) {
      const changed = watchFile(error.file);
      await pause(quietMs, undefined, { signal }).catch(() => {});
      if (!changed()) return;
    }
  }

  /**
   * Deploys the new code if no worker with the old code is left, so that the service keeps answering: it would otherwise
   * stand still until somebody asked for a reload. And if a worker runs part of the new code already.
   */
  readonly #onOutdated: ModuleLoad['onOutdated'] = (deployment, pool, mixed) => {
    if (this.#retired.has(deployment)) {
      pool.workers.takeOtherCode();
      return;
    }
    const { log, reloads } = this.#context;
    if (deployment !== this.current || reloads.isUnderWay) return;
    log.warn(
      { event: 'reload-needed', file: mixed },
      mixed === undefined
        ? 'the modules have changed, and no worker with their old code is left: reloading'
        : 'a file has changed, and a worker has loaded it as it is now: reloading, so that all threads run the same code',
    );
    this.reload().catch((error: unknown) => {
      const detail = messageOf(error);
      log.error(
        { event: 'reload-failed' },
        `not reloaded, and no worker is left to serve the modules as they were: ${detail}`,
      );
    });
  };

  /** Never rejects, since nobody waits for the promise. */
  async #retire(old: Deployment): Promise<void> {
    const { config, log } = this.#context;
    this.#retired.add(old);
    try {
      await old.retire(config.maxRequestMs);
    } catch (error) {
      const detail = messageOf(error);
      log.error(
        { event: 'teardown-failed', detail },
        'the modules as they were before the reload could not be torn down',
      );
    }
    this.#retired.delete(old);
  }

  #swap(loaded: Deployment): void {
    const old = this.current;
    replaceTable(this.router, tableOf(loaded.router), sourcesOf(loaded.router));
    this.current = loaded;
    this.#replays.keepOnly(loaded.modules?.broadcasts.names ?? []);
    this.#tellOfSchemas();
    for (const given of loaded.modules?.empty ?? [])
      warnOfNoProcedures(`the router of ${given}`, this.#context.log);
    if (old !== undefined) void this.#retire(old);
  }

  /** Names the procedures whose results are sent as they are, and the strings that their patterns limit. */
  #tellOfSchemas(): void {
    const procedures = [...tableOf(this.router).values()];
    const names = procedures
      .filter(({ stream, result }) => (stream === undefined ? result : stream.value) === undefined)
      .map(({ name }) => name);
    this.#tell('returns-missing', { procedures: names.length }, undeclaredResults(names));
    const strings = procedures.flatMap(({ name, params, returns, stream }) => [
      ...limitedStrings(params, `${name} params`),
      ...limitedStrings(returns, `${name} returns`),
      ...limitedStrings(stream?.yields, `${name} yields`),
    ]);
    this.#tell('pattern-limits', { strings: strings.length }, limitsOfPatterns(strings));
  }

  /** Logs a line once, and again if a reload has changed it. */
  #tell(
    event: StartNote,
    counts: Readonly<Record<string, number>>,
    line: string | undefined,
  ): void {
    if (line !== undefined && line !== this.#told.get(event))
      this.#context.log.info({ event, ...counts }, line);
    this.#told.set(event, line);
  }
}

type StartNote = 'returns-missing' | 'pattern-limits';

/** What hangs in a load that was given up is ended within a second, and has gone soon after. */
const minDiscardMs = 2000;

/** How many times modules are loaded at most, where their files are being written meanwhile. */
const tries = 3;

/** A file that nobody has written for this long counts as complete. */
const quietMs = 100;

/**
 * After this many looks at a file that is still being written the modules are loaded all the same. The comparison
 * after that load decides.
 */
const looks = 20;
