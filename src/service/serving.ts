import { StartupError } from '../base/startup-error.ts';
import { locateModule } from '../modules/module-file.ts';
import {
  Router,
  type RouterOwner,
  replaceTable,
  setOwner,
  sourcesOf,
  tableOf,
} from '../router/router.ts';
import { LoadAttempt } from './load-attempt.ts';
import { LoadedService, type ServiceContext } from './loaded-service.ts';
import type { Servable } from './servable.ts';

/**
 * The generations of a service: the one that takes requests, and the old ones that still finish theirs.
 * A reload loads the next beside the current one and swaps them in one step, so that no call is lost and
 * none sees two.
 */
export class Serving implements RouterOwner {
  /** The served procedures, for whoever asks: one object through all reloads. */
  readonly router: Router;
  readonly #modules: readonly string[] | undefined;
  readonly #context: ServiceContext;
  /** Those that still finish their requests. */
  readonly #retired = new Set<LoadedService>();
  #current: LoadedService | undefined;
  /** The start or the reload that is under way. */
  #underWay: UnderWay | undefined;
  /** Reloads asked for meanwhile: one for all of them. */
  #following: Promise<boolean> | undefined;
  /** Loads that were given up and are not gone yet. */
  readonly #discarding = new Set<Promise<void>>();
  #closed = false;

  constructor(source: Servable, context: Omit<ServiceContext, 'onOutdated'>) {
    this.#modules = source.modules;
    this.#context = { ...context, onOutdated: (loaded) => this.#onOutdated(loaded) };
    this.router = source.router ?? new Router();
    if (source.modules !== undefined) setOwner(this.router, this);
  }

  /** undefined before the start and after the end. */
  get current(): LoadedService | undefined {
    return this.#current;
  }

  /** All that have not ended, the one that serves first. */
  get generations(): readonly LoadedService[] {
    return this.#generations();
  }

  /** Requests that have not been answered. */
  get inFlight(): number {
    let sum = this.#current?.inFlight ?? 0;
    if (this.#retired.size === 0) return sum; // asked for at each request
    for (const retired of this.#retired) sum += retired.inFlight;
    return sum;
  }

  /** @throws StartupError */
  async start(): Promise<void> {
    const modules = this.#modules;
    if (modules === undefined) {
      this.#current = LoadedService.ofRouter(this.router, this.#context);
      return;
    }
    await this.#enter(new LoadAttempt(modules, [], this.#context), async (attempt) => {
      this.#swap(await attempt.load(true), attempt);
      return true;
    });
  }

  /**
   * Loads the modules anew, here and in fresh workers, where they or anything they import have changed.
   *
   * A reload that is under way is waited for; not where the files have changed since it began, or it seems to
   * hang: then it is given up, and whoever asked for it gets the outcome of this one.
   *
   * @param path one of the served modules, to be told when it is none
   * @returns false when nothing has changed
   * @throws StartupError; the old modules then go on serving
   */
  async reload(path?: string): Promise<boolean> {
    const modules = this.#assertReloadable(path);
    const underWay = this.#underWay;
    if (underWay === undefined) return this.#reload(modules);
    if (underWay.attempt.isOutdated) return this.#supersede(underWay, modules);
    this.#following ??= this.#reloadBehind(underWay, modules);
    return this.#following;
  }

  /** Resolves when no loaded service has a request in flight, or after `graceMs`. */
  async idle(graceMs: number): Promise<void> {
    await Promise.all(this.#generations().map((one) => one.idle(graceMs)));
  }

  /** Gives up what is under way and ends every loaded service. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    const generations = this.#generations();
    this.#current = undefined;
    this.#underWay?.attempt.giveUp(new StartupError('the service was closed meanwhile'));
    // Settled: a teardown that fails must not leave the others running.
    const ended = await Promise.allSettled(generations.map((one) => one.close(graceMs)));
    await this.#underWay?.outcome.catch(() => {});
    await settledWithin(Promise.all(this.#discarding), Math.max(graceMs, shortestDiscardMs));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  }

  #generations(): LoadedService[] {
    return this.#current === undefined ? [...this.#retired] : [this.#current, ...this.#retired];
  }

  #assertReloadable(path: string | undefined): readonly string[] {
    if (this.#modules === undefined) {
      throw new StartupError(
        'a router given as an object has no modules to reload: use its reloadModule',
      );
    }
    if (path !== undefined) assertServed(path, this.#modules);
    this.#running();
    return this.#modules;
  }

  #running(): LoadedService {
    if (this.#current !== undefined) return this.#current;
    const why = this.#closed ? 'is closed' : 'has not started: await ready() first';
    throw new StartupError(`nothing to reload: the service ${why}`);
  }

  /** Waits for a reload that loads the same files; where it seems to hang, begins anew. */
  async #reloadBehind(earlier: UnderWay, modules: readonly string[]): Promise<boolean> {
    await settledWithin(earlier.outcome, patienceMs);
    this.#following = undefined;
    const now = this.#underWay;
    if (now === undefined) return this.#reload(modules);
    // Another one has taken its place meanwhile: that began after this one was asked for.
    return now === earlier ? this.#supersede(earlier, modules) : now.outcome;
  }

  async #supersede(earlier: UnderWay, modules: readonly string[]): Promise<boolean> {
    const outcome = this.#reload(modules);
    earlier.attempt.giveUp(new Superseded(outcome));
    return outcome;
  }

  async #reload(modules: readonly string[]): Promise<boolean> {
    const old = this.#running();
    if (old.isUpToDate(modules)) return false;
    const known = old.sources?.files.keys() ?? [];
    return this.#enter(new LoadAttempt(modules, known, this.#context), (attempt) =>
      this.#replace(old, modules, attempt),
    );
  }

  async #replace(
    old: LoadedService,
    modules: readonly string[],
    attempt: LoadAttempt,
  ): Promise<boolean> {
    const { observation, log } = this.#context;
    const began = performance.now();
    try {
      this.#swap(await attempt.load(false), attempt);
    } catch (error) {
      if (error instanceof Superseded) return error.by;
      observation.failedReloads++;
      throw error;
    }
    observation.reloads++;
    const ms = Math.round(performance.now() - began);
    log.info({ event: 'reloaded', modules, ms }, 'reloaded');
    void this.#retire(old);
    return true;
  }

  /** Keeps what is under way known until its end. */
  #enter(attempt: LoadAttempt, run: (attempt: LoadAttempt) => Promise<boolean>): Promise<boolean> {
    const outcome = run(attempt).finally(() => {
      if (this.#underWay?.attempt === attempt) this.#underWay = undefined;
    });
    this.#underWay = { attempt, outcome };
    const discarded = outcome
      .catch(() => {})
      .then(() => attempt.discarded())
      .finally(() => this.#discarding.delete(discarded));
    this.#discarding.add(discarded);
    return outcome;
  }

  /** Better other code than none: the service would stand still until somebody asks for the same. */
  #onOutdated(loaded: LoadedService | undefined): void {
    if (loaded !== undefined && this.#retired.has(loaded)) {
      loaded.pool?.takeOtherCode();
      return;
    }
    if (loaded !== this.#current || this.#underWay !== undefined) return;
    const { log } = this.#context;
    log.warn(
      { event: 'reload-needed' },
      'the modules have changed, and no worker with their old code is left: reloading',
    );
    this.reload().catch((error: unknown) => {
      const detail = error instanceof Error ? error.message : String(error);
      log.error(
        { event: 'reload-failed' },
        `not reloaded, and no worker is left to serve the modules as they were: ${detail}`,
      );
    });
  }

  /** Never rejects: nobody waits for it. */
  async #retire(old: LoadedService): Promise<void> {
    const { config, log } = this.#context;
    this.#retired.add(old);
    try {
      await old.retire(config.maxRequestMs);
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      log.error(
        { event: 'teardown-failed', detail },
        'the modules as they were before the reload could not be torn down',
      );
    }
    this.#retired.delete(old);
  }

  /** @throws why the attempt was given up: the last moment for that */
  #swap(loaded: LoadedService, { givenUp }: LoadAttempt): void {
    if (givenUp.aborted) {
      loaded.close(0).catch(() => {});
      throw givenUp.reason;
    }
    replaceTable(this.router, tableOf(loaded.router), sourcesOf(loaded.router));
    this.#current = loaded;
  }
}

interface UnderWay {
  readonly attempt: LoadAttempt;
  readonly outcome: Promise<boolean>;
}

/** A later reload has taken the place of this one. */
class Superseded extends Error {
  readonly by: Promise<boolean>;

  constructor(by: Promise<boolean>) {
    super('a later reload took its place');
    this.by = by;
  }
}

/**
 * How long a reload may go on when another is asked for and the files are as they were when it began. What takes
 * longer may hang, and may not be what is asked for: a file that it was the first to load could have been mended.
 */
const patienceMs = 2000;

/** What hangs in a load that was given up is ended within a second, and gone soon after. */
const shortestDiscardMs = 2000;

async function settledWithin(promise: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise.catch(() => {}), late]);
  clearTimeout(timer);
}

function assertServed(path: string, modules: readonly string[]): void {
  const cwd = process.cwd();
  const { url } = locateModule(path, cwd);
  if (modules.some((module) => locateModule(module, cwd).url === url)) return;
  throw new StartupError(`${path} is not among the served modules: ${modules.join(', ')}`);
}
