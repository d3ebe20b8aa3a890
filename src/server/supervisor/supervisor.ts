import { StartupError } from '../../core/base/startup-error.ts';
import type { Config } from '../../core/config/config.ts';
import type { Log } from '../../core/observe/log.ts';
import { RecentEvents } from '../../core/observe/recent-events.ts';
import { freePorts } from '../http/edge/http-server.ts';
import type { ReadyReport } from './messages.ts';
import type { ServerEnd } from './server-process.ts';
import { Slot, type SlotOptions } from './slot.ts';
import { Tally } from './tally.ts';

export interface SupervisorOptions {
  /** The file that a server process runs; it opens a SupervisorChannel. */
  readonly entry: URL;
  readonly modules: readonly string[];
  readonly config: Config;
  readonly version: string;
  readonly log: Log;
}

/**
 * The parent of the server processes, which share one port. The supervisor serves nothing itself. It keeps the
 * configured number of processes running, and passes reloads, replacements and signals on to them.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #recent = new RecentEvents();
  readonly #tally = new Tally(() => this.#recent.list);
  #slots: readonly Slot[] = [];
  /** Reloads and replacements, one at a time: the other processes serve meanwhile. */
  #rolling: Promise<void> = Promise.resolve();
  /** Aborts the reload that is under way, so that the next reload or replacement need not wait for it. */
  #reloading: AbortController | undefined;
  #isStopping = false;

  constructor(options: SupervisorOptions) {
    const { config, log } = options;
    // The console of every process tells of them.
    this.#options = config.console ? { ...options, log: this.#recent.tee(log) } : options;
  }

  get log(): Log {
    return this.#options.log;
  }

  /**
   * Starts all processes: first one alone, so that a mistake is reported once, then the others together.
   *
   * @returns the report of the first process; undefined where the supervisor was stopped meanwhile
   * @throws StartupError, or the operating system's error (EADDRINUSE and others), with one line
   */
  async start(): Promise<ReadyReport | undefined> {
    assertCanShare(this.#options.config);
    const report = await this.#startFirst();
    if (report === undefined) return undefined;
    const others = this.#slots.slice(1);
    const rest = await Promise.all(
      others.map(async (slot) => this.#reportOf(await slot.start(false))),
    );
    return rest.includes(undefined) ? undefined : report;
  }

  /**
   * Reloads the modules, one process after another. Where one fails, the processes after it keep their modules. A
   * reload that is under way is given up, and this one begins with the first process.
   */
  reload(): Promise<void> {
    this.#reloading?.abort();
    return this.#roll(() => this.#reload());
  }

  /** Replaces every process by a new one, one after another. A reload that is under way is given up. */
  async replace(): Promise<void> {
    this.#reloading?.abort();
    const cause = { reason: 'asked' };
    await Promise.all(this.#slots.map((slot) => this.#roll(() => slot.replace(cause))));
  }

  /** Drains and ends every process. Resolves with whether all of them answered everything. Idempotent. */
  async stop(signal: NodeJS.Signals): Promise<boolean> {
    this.#isStopping = true;
    // A server process ignores SIGHUP.
    const passedOn = signal === 'SIGHUP' ? 'SIGTERM' : signal;
    const ends = await Promise.all(this.#slots.map((slot) => slot.stop(passedOn)));
    return ends.every(Boolean);
  }

  kill(): void {
    this.#isStopping = true;
    for (const slot of this.#slots) slot.kill();
  }

  #createSlots(config: Config): Slot[] {
    const { entry, modules, version, log } = this.#options;
    const { processes, startTimeoutMs, shutdownGraceMs, maxZombies, maxProcessMb } = config;
    const options: SlotOptions = {
      entry,
      maxZombies,
      maxProcessMb,
      // One startTimeoutMs for the front end's own loading of the modules, one for the workers'.
      startLimitMs: 2 * startTimeoutMs,
      shutdownGraceMs,
    };
    return Array.from({ length: processes }, (_, i) => {
      const order = { number: i + 1, of: processes, modules, config, version };
      return new Slot(order, options, log, this.#tally, (slot, cause) => {
        void this.#roll(() => slot.replace(cause));
      });
    });
  }

  async #startFirst(): Promise<ReadyReport | undefined> {
    const { config, log } = this.#options;
    const isChosen = config.port === 0 || config.metricsPort === 0;
    for (let tries = 1; !this.#isStopping; tries++) {
      this.#slots = this.#createSlots({ ...config, ...(await freePorts(config)) });
      // A stop during the choice had no process to end.
      if (this.#isStopping) break;
      const result = await this.#slots[0]?.start(true);
      if (result === undefined) break;
      const isTaken = 'failure' in result && result.failure?.code === 'EADDRINUSE';
      if (!isChosen || !isTaken || tries === portTries) return this.#reportOf(result);
      log.warn(
        { event: 'process-start-retried', detail: result.failure?.message },
        'another program took the free port before the service listened: another port is chosen',
      );
    }
    return undefined;
  }

  #reportOf(result: ReadyReport | ServerEnd): ReadyReport | undefined {
    if ('banner' in result) return result;
    if (this.#isStopping) return undefined;
    this.kill();
    throw startError(result);
  }

  #roll(run: () => Promise<void>): Promise<void> {
    const done = this.#rolling.then(() => (this.#isStopping ? undefined : run()));
    this.#rolling = done;
    return done;
  }

  async #reload(): Promise<void> {
    const { log } = this.#options;
    this.#reloading = new AbortController();
    const { signal } = this.#reloading;
    const superseded = new Promise<'superseded'>((resolve) => {
      signal.addEventListener('abort', () => resolve('superseded'));
    });
    let changed = 0;
    let ended = 0;
    for (const [i, slot] of this.#slots.entries()) {
      const outcome = await Promise.race([slot.reload(), superseded]);
      if (outcome === 'superseded') {
        log.info({ event: 'reload-superseded' }, 'a reload was given up: another was asked for');
        return;
      }
      if (outcome === undefined) {
        ended++;
        continue;
      }
      if ('error' in outcome) {
        const fields = this.#slots.length > 1 ? { process: i + 1, reloaded: changed } : {};
        const who = changed === 0 ? 'the modules serve' : 'this process and those after it serve';
        log.error(
          { event: 'reload-failed', ...fields },
          `not reloaded, ${who} as they were: ${outcome.error}`,
        );
        return;
      }
      if (outcome.changed) changed++;
    }
    if (ended > 0) {
      log.warn(
        { event: 'reload-incomplete', ended, reloaded: changed },
        'server processes ended before they had reloaded: their successors load the files as they are',
      );
    } else if (changed === 0) {
      log.info({ event: 'reload-unchanged' }, 'not reloaded: nothing has changed');
    }
  }
}

/** Between the choice of a free port and the start any program may get the port. Nobody gets so many in a row by chance. */
const portTries = 5;

function assertCanShare({ processes, transport }: Config): void {
  if (processes === 1) return;
  const because =
    transport === 'node'
      ? 'transport node does not share a port'
      : process.platform !== 'linux' && `${process.platform} does not share a port among processes`;
  if (because === false) return;
  throw new StartupError(`option processes: ${because}, so ${processes} can't be had; set it to 1`);
}

/** The error of a process that ended before it was ready. */
function startError({ code, signal, failure }: ServerEnd): StartupError {
  const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
  const message = failure?.message ?? `a server process ended ${how} before it was ready`;
  const error = new StartupError(message);
  if (failure?.stack !== undefined) error.stack = failure.stack;
  return error;
}
