import { type GenerationContext, ServedGeneration } from './generation.ts';
import { locateModule } from './router/modules/module-file.ts';
import { haveChanged } from './router/modules/modules.ts';
import {
  Router,
  type RouterOwner,
  replaceTable,
  setOwner,
  sourcesOf,
  tableOf,
} from './router/router.ts';
import type { Servable } from './servable.ts';
import { StartupError } from './startup-error.ts';

/**
 * The generations of a service: the one that takes requests, and the old ones that still finish theirs.
 * A reload loads the next beside the current one and swaps them in one step, so that no call is lost and
 * none sees two.
 */
export class Serving implements RouterOwner {
  /** The served procedures, for whoever asks: one object through all reloads. */
  readonly router: Router;
  readonly #modules: readonly string[] | undefined;
  readonly #context: GenerationContext;
  /** Those that still finish their requests. */
  readonly #retired = new Set<ServedGeneration>();
  #current: ServedGeneration | undefined;
  #reloading: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(source: Servable, context: GenerationContext) {
    this.#modules = source.modules;
    this.#context = context;
    this.router = source.router ?? new Router();
    if (source.modules !== undefined) setOwner(this.router, this);
  }

  /** undefined before the start and after the end. */
  get current(): ServedGeneration | undefined {
    return this.#current;
  }

  /** All that have not ended, the one that serves first. */
  get generations(): readonly ServedGeneration[] {
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
    const generation =
      modules === undefined
        ? ServedGeneration.ofRouter(this.router, this.#context)
        : await ServedGeneration.ofModules(modules, 0, this.#context);
    await this.#swap(generation);
  }

  /**
   * Loads the modules anew, here and in fresh workers, where they or anything they import have changed.
   *
   * @param path one of the served modules, to be told when it is none
   * @returns false when nothing has changed
   * @throws StartupError; the old generation then goes on serving
   */
  reload(path?: string): Promise<boolean> {
    const result = this.#reloading.then(() => this.#reload(path));
    this.#reloading = result.catch(() => {
      this.#context.observation.failedReloads++;
    });
    return result;
  }

  /** Resolves when no generation has a request in flight, or after `graceMs`. */
  async idle(graceMs: number): Promise<void> {
    await Promise.all(this.#generations().map((one) => one.idle(graceMs)));
  }

  /** Waits for a reload under way, then ends every generation. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    const generations = this.#generations();
    this.#current = undefined;
    // Settled: a teardown that fails must not leave the others running.
    const ended = Promise.allSettled(generations.map((one) => one.close(graceMs)));
    await this.#reloading;
    for (const end of await ended) if (end.status === 'rejected') throw end.reason;
  }

  #generations(): ServedGeneration[] {
    return this.#current === undefined ? [...this.#retired] : [this.#current, ...this.#retired];
  }

  async #reload(path: string | undefined): Promise<boolean> {
    const modules = this.#modules;
    if (modules === undefined) {
      throw new StartupError(
        'a router given as an object has no modules to reload: use its reloadModule',
      );
    }
    if (path !== undefined) assertServed(path, modules);
    const old = this.#current;
    if (old === undefined) {
      const why = this.#closed ? 'is closed' : 'has not started: await ready() first';
      throw new StartupError(`nothing to reload: the service ${why}`);
    }
    if (old.files !== undefined && !haveChanged(old.files)) return false;
    const began = Date.now();
    const fresh = await ServedGeneration.ofModules(modules, 1, this.#context);
    await this.#swap(fresh);
    this.#context.observation.reloads++;
    this.#context.log.info({ event: 'reloaded', modules, ms: Date.now() - began }, 'reloaded');
    void this.#retire(old);
    return true;
  }

  /** Never rejects: nobody waits for it. */
  async #retire(old: ServedGeneration): Promise<void> {
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

  async #swap(generation: ServedGeneration): Promise<void> {
    if (this.#closed) {
      await generation.close(0);
      throw new StartupError('the service was closed meanwhile');
    }
    if (this.#modules !== undefined) {
      replaceTable(this.router, tableOf(generation.router), sourcesOf(generation.router));
    }
    this.#current = generation;
  }
}

function assertServed(path: string, modules: readonly string[]): void {
  const cwd = process.cwd();
  const { url } = locateModule(path, cwd);
  if (modules.some((module) => locateModule(module, cwd).url === url)) return;
  throw new StartupError(`${path} is not among the served modules: ${modules.join(', ')}`);
}
