import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import { StartupError } from '../base/startup-error.ts';
import { isDoneWithin } from '../base/timer.ts';
import { locateModule, watchFiles } from '../modules/module-files.ts';
import {
  type AnyRouter,
  Router,
  replaceTable,
  setServedReload,
  sourcesOf,
  tableOf,
} from '../procedures/router.ts';
import { limitedStrings } from '../schema/pattern-limits.ts';
import { ChangedFileError } from '../workers/worker.ts';
import type { DispatcherOptions, ServiceContext } from './context.ts';
import { Generation, GenerationLoad, type OnOutdated } from './generation.ts';
import { assertRunsInline, limitsOfPatterns, undeclaredResults, usedGroups } from './servable.ts';

/**
 * The generations of a service's modules: the one that takes new requests, and older ones that still finish theirs. A
 * reload loads the next beside the current one and swaps the two in one step. So no call is lost, and no call sees
 * two generations.
 */
export class Generations {
  /** The procedures that are served now, as one object that stays the same through all reloads. */
  readonly router: AnyRouter;
  readonly #modules: readonly string[] | undefined;
  readonly #context: ServiceContext;
  /** Older generations that still finish their requests. */
  readonly #retired = new Set<Generation>();
  #current: Generation | undefined;
  #underWay: Attempt | undefined;
  /** Loads that were given up and have not ended yet. */
  readonly #discarding = new Set<Promise<void>>();
  #closed = false;
  /** What was said last at a start or a reload, by event. */
  readonly #told = new Map<StartNote, string | undefined>();

  constructor(source: Pick<DispatcherOptions, 'modules' | 'router'>, context: ServiceContext) {
    this.#modules = source.modules;
    this.#context = context;
    this.router = source.router ?? new Router();
    context.broadcasts.attach(this);
    if (source.modules !== undefined) setServedReload(this.router, (path) => this.reload(path));
  }

  /** undefined before the start and after the end. */
  get current(): Generation | undefined {
    return this.#current;
  }

  /** What the start or the reload that is in progress loads. */
  get next(): GenerationLoad | undefined {
    return this.#underWay?.load;
  }

  /** All generations that have not ended, the current one first. */
  get all(): readonly Generation[] {
    return this.#current === undefined ? [...this.#retired] : [this.#current, ...this.#retired];
  }

  get inFlight(): number {
    let sum = this.#current?.inFlight ?? 0;
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
      this.#current = new Generation(this.#context, this.router);
      return;
    }
    await this.#begin([], async (attempt) => {
      this.#swap(await this.#load(attempt, modules, true), attempt);
      return true;
    });
  }

  /**
   * Loads the modules anew, on this thread and in fresh workers, if they or anything they import have changed.
   *
   * A reload that is in progress is waited for. But if files have changed since it began, or if it seems to
   * hang, it is given up: this reload takes its place, and whoever asked for the earlier reload gets the outcome of
   * this one.
   *
   * @param path one of the served modules; any other path is an error that names the served ones
   * @returns false when nothing has changed
   * @throws StartupError; the old modules then go on serving
   */
  async reload(path?: string): Promise<boolean> {
    const modules = this.#assertReloadable(path);
    const earlier = this.#underWay;
    if (earlier !== undefined && earlier.changed() === undefined) {
      await isDoneWithin(Promise.allSettled([earlier.outcome]), patienceMs);
      // A reload that took the earlier one's place meanwhile began after this one was asked for: its outcome is right.
      if (this.#underWay !== undefined && this.#underWay !== earlier) return this.#underWay.outcome;
    }
    const isUnderWay = this.#underWay === earlier;
    const outcome = this.#reload(modules);
    if (isUnderWay) earlier?.givenUp.abort(new Superseded(outcome));
    return outcome;
  }

  /** Resolves when no generation has a request in flight, or after `graceMs`. */
  async idle(graceMs: number): Promise<void> {
    await Promise.all(this.all.map((one) => one.idle(graceMs)));
  }

  /** Lets the streams of all generations come to their end, for `graceMs` at most. No more may open. */
  async endStreams(graceMs: number): Promise<void> {
    const { cluster } = this.#context;
    await Promise.all([
      cluster?.streams.drain('shutdown', graceMs, 0),
      ...this.all.map(({ streams }) => streams.drain('shutdown', graceMs, 0)),
    ]);
  }

  /** Gives up the start or reload that is in progress, and ends every generation. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    const { all } = this;
    this.#current = undefined;
    this.#underWay?.givenUp.abort(new StartupError('the service was closed meanwhile'));
    // `allSettled`: a teardown that fails must not leave the other generations running.
    const ended = await Promise.allSettled(all.map((one) => one.close(graceMs)));
    await this.#underWay?.outcome.catch(() => {});
    await isDoneWithin(Promise.allSettled(this.#discarding), Math.max(graceMs, shortestDiscardMs));
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
    this.#running();
    return this.#modules;
  }

  #running(): Generation {
    if (this.#current !== undefined) return this.#current;
    const why = this.#closed ? 'is closed' : 'has not started: await ready() first';
    throw new StartupError(`nothing to reload: the service ${why}`);
  }

  async #reload(modules: readonly string[]): Promise<boolean> {
    const old = this.#running();
    if (old.isUpToDate(modules)) return false;
    const known = old.sources?.files.keys() ?? [];
    return this.#begin(known, (attempt) => this.#replace(old, modules, attempt));
  }

  async #replace(old: Generation, modules: readonly string[], attempt: Attempt): Promise<boolean> {
    const { observation, log } = this.#context;
    const began = clockMs();
    try {
      this.#swap(await this.#load(attempt, modules, false), attempt);
    } catch (error) {
      if (error instanceof Superseded) return error.by;
      observation.counts.failedReloads++;
      throw error;
    }
    observation.counts.reloads++;
    const ms = Math.round(clockMs() - began);
    log.info({ event: 'reloaded', modules, ms }, 'reloaded');
    void this.#retire(old);
    return true;
  }

  /**
   * Notes that an attempt is in progress, until it has ended.
   *
   * @param known the files of the previous generation
   */
  #begin(known: Iterable<string>, run: (attempt: Attempt) => Promise<boolean>): Promise<boolean> {
    const { reloads } = this.#context;
    const attempt: Attempt = {
      givenUp: new AbortController(),
      changed: watchFiles(known),
      outcome: Promise.resolve(false),
      load: undefined,
    };
    attempt.outcome = run(attempt).finally(() => {
      if (this.#underWay === attempt) this.#underWay = undefined;
      reloads.isUnderWay = this.#underWay !== undefined;
    });
    this.#underWay = attempt;
    reloads.isUnderWay = true;
    return attempt.outcome;
  }

  /**
   * Loads the modules, again if their files change meanwhile.
   *
   * @param isFirst nobody is served yet: see {@link GenerationLoad.first}
   * @throws StartupError, or the reason for which the attempt was given up
   */
  async #load(attempt: Attempt, modules: readonly string[], isFirst: boolean): Promise<Generation> {
    const { signal } = attempt.givenUp;
    for (let left = tries; ; ) {
      const load = new GenerationLoad(
        modules,
        this.#context,
        this.#onOutdated,
        signal,
        this.#discarding,
      );
      attempt.load = load;
      try {
        return await (isFirst && left === tries ? load.first() : load.next());
      } catch (error) {
        if (!(error instanceof ChangedFileError)) throw error;
        left--;
        if (left === 0) {
          throw new StartupError(
            `${error.file} changed while it was being loaded, ${tries} times: try again when nobody writes it`,
            { cause: error },
          );
        }
        await quiet(error.file, signal);
      }
    }
  }

  /**
   * Deploys the new code if no worker with the old code is left, so that the service keeps answering: it would otherwise
   * stand still until somebody asked for a reload. And if a worker runs part of the new code already.
   */
  readonly #onOutdated: OnOutdated = (loaded, pool, mixed) => {
    if (loaded !== undefined && this.#retired.has(loaded)) {
      pool.workers.takeOtherCode();
      return;
    }
    if (loaded !== this.#current || this.#underWay !== undefined) return;
    const { log } = this.#context;
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
  async #retire(old: Generation): Promise<void> {
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

  /**
   * The last moment at which an attempt can be given up.
   *
   * @throws the reason for which the attempt was given up
   */
  #swap(loaded: Generation, attempt: Attempt): void {
    const { signal } = attempt.givenUp;
    if (signal.aborted) {
      loaded.close(0).catch(() => {});
      throw signal.reason;
    }
    replaceTable(this.router, tableOf(loaded.router), sourcesOf(loaded.router));
    this.#current = loaded;
    attempt.load = undefined;
    this.#context.broadcasts.keepOnly(loaded.broadcastNames ?? []);
    this.#tellOfSchemas();
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

/** A start or a reload that is in progress: it ends when the modules serve, when a load fails, or when it is given up. */
interface Attempt {
  readonly givenUp: AbortController;
  /** Names a file that has changed since the attempt began: it may load older code than the files hold now. */
  readonly changed: () => string | undefined;
  outcome: Promise<boolean>;
  /** undefined: it has not begun, or serves. */
  load: GenerationLoad | undefined;
}

/** Rejects a reload whose place a later reload has taken. */
class Superseded extends Error {
  readonly by: Promise<boolean>;

  constructor(by: Promise<boolean>) {
    super('a later reload took its place');
    this.by = by;
  }
}

/**
 * How long a reload may still take when another is asked for and its files have not changed since it began. A reload
 * that takes longer may hang, or may load older code than was asked for: a file that it was the first to load could
 * have been mended meanwhile.
 */
const patienceMs = 2000;

/** What hangs in a load that was given up is ended within a second, and has gone soon after. */
const shortestDiscardMs = 2000;

/** How many times modules are loaded at most, where their files are being written meanwhile. */
const tries = 3;

/** A file that nobody has written for this long counts as complete. */
const quietMs = 100;
/**
 * After this many looks at a file that is still being written the modules are loaded all the same. The comparison
 * after that load decides.
 */
const looks = 20;

/** Resolves when a file is written no longer, or has been for too long. */
async function quiet(file: string, signal: AbortSignal): Promise<void> {
  for (let look = 0; look < looks; look++) {
    const changed = watchFiles([file]);
    await pause(quietMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    if (changed() === undefined) return;
  }
}
