import { clockMs } from '../../core/base/clock.ts';
import { type DelayPolicy, RestartDelay } from '../../core/base/restart-delay.ts';
import { blame } from '../../core/base/running-code.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import type { Config } from '../../core/config/config.ts';
import type { Log, LogFields } from '../../core/observe/log.ts';
import { RecentEvents } from '../../core/observe/recent-events.ts';
import { freePorts } from '../http/edge/http-server.ts';
import type { Figures, ReadyReport, ReloadOutcome, StartOrder } from './channel.ts';
import { type Answer, type Order, processOf, refusalOf } from './orders.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { type ServerEnd, ServerProcess } from './server-process.ts';

export interface SupervisorOptions {
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
  readonly #metrics = new ProcessMetrics(() => this.#recent.list);
  #slots: readonly Slot[] = [];
  /** Reloads and replacements, one at a time: the other processes serve meanwhile. */
  #rolling: Promise<void> = Promise.resolve();
  /** Gives up the reload that is under way, so that the next reload or replacement need not wait for it. */
  #supersede: () => void = () => {};
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
    this.#supersede();
    return this.#roll(() => this.#reload());
  }

  /** Replaces every process by a new one, one after another. A reload that is under way is given up. */
  async replace(): Promise<void> {
    this.#supersede();
    const cause = { reason: 'asked' };
    await Promise.all(this.#slots.map((slot) => this.#roll(() => slot.replace(cause))));
  }

  /** Has each process carry out an order of the admin socket, all at the same time; or the one that the order names. */
  async *order(order: Order, left: AbortSignal): AsyncGenerator<Answer> {
    const refusal = refusalOf(order, this.#slots.length);
    if (refusal !== undefined) yield refusal;
    const named = processOf(order);
    const slots = this.#slots.filter((_, i) => named === undefined || i + 1 === named);
    const answers = slots.flatMap((slot) => slot.order(order, left));
    for (const answer of answers) yield await answer;
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
    const { modules, version, log } = this.#options;
    const of = config.processes;
    return Array.from({ length: of }, (_, i) => {
      const slot: Slot = new Slot(
        { number: i + 1, of, modules, config, version },
        log,
        this.#metrics,
        (cause) => void this.#roll(() => slot.replace(cause)),
      );
      return slot;
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
    // Whoever asked for it gets the error.
    this.#rolling = done.catch(() => {});
    return done;
  }

  /** The files may have changed for all processes at once: those whose turn has not come are told that it will. */
  async #reload(): Promise<void> {
    for (const slot of this.#slots) slot.expectReload(true);
    try {
      await this.#reloadEach();
    } finally {
      for (const slot of this.#slots) slot.expectReload(false);
    }
  }

  async #reloadEach(): Promise<void> {
    const { log } = this.#options;
    const superseded = new Promise<'superseded'>((resolve) => {
      this.#supersede = () => resolve('superseded');
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

/** As for worker threads: three restarts at once, then slower and slower, so that a crash loop does not take a core. */
const afterDeath: DelayPolicy = { free: 3, firstMs: 100, longestMs: 5000, forgetsMs: 10_000 };

/** Replacements are rare: a limit that every process exceeds at once must not keep the machine busy with starts. */
const afterReplacement: DelayPolicy = {
  free: 0,
  firstMs: 1000,
  longestMs: 60_000,
  forgetsMs: 600_000,
};

/** A start that fails so many times in a row does not fail by chance. */
const startTries = 3;

/**
 * Keeps one server process running: starts it, starts it again when it ends, and replaces it by a successor that
 * starts while the old process still serves.
 *
 *     #alive      one that starts at most, one that serves at most, and older ones that still drain
 *
 *     one is ready            the one before is told to end
 *     one ends as it should   nothing; if no other is there, another starts
 *     one that serves ends    another starts, after a delay
 *     one that starts ends    the one that serves goes on; without one, another starts after a delay
 */
export class Slot {
  readonly #order: Omit<StartOrder, 'isFirst'>;
  readonly #metrics: ProcessMetrics;
  readonly #onExcess: (cause: LogFields) => void;
  readonly #log: Log;
  readonly #deaths = new RestartDelay(afterDeath);
  readonly #replacements = new RestartDelay(afterReplacement);
  readonly #alive = new Set<ServerProcess>();
  #sharesPort = false;
  #hasServed = false;
  #isStopping = false;
  /** `onExcess` was called, and `replace` has not been called yet. */
  #isDue = false;
  /** No replacement before this reading of `clockMs`. */
  #replaceableAt = 0;
  #retry: NodeJS.Timeout | undefined;

  /** @param onExcess the process exceeds a limit: call `replace(cause)` when no other process is being replaced */
  constructor(
    order: Omit<StartOrder, 'isFirst'>,
    log: Log,
    metrics: ProcessMetrics,
    onExcess: (cause: LogFields) => void,
  ) {
    this.#order = order;
    this.#log = log;
    this.#metrics = metrics;
    this.#onExcess = onExcess;
  }

  /**
   * Starts the first process, and again where it ends by chance. Resolves with its report, or with how it ended.
   *
   * @param isFirst no other process of the service serves yet
   */
  async start(isFirst: boolean): Promise<ReadyReport | ServerEnd> {
    for (let tries = 1; ; tries++) {
      const server = this.#launch(isFirst);
      const result = (await server.ready) ?? (await server.ended);
      if ('banner' in result || tries === startTries || this.#isStopping) return result;
      // If another process serves, the configuration and the modules are right.
      const mayBeChance = !isFirst || (result.signal !== null && result.failure === undefined);
      if (!mayBeChance) return result;
      this.#log.warn(
        { event: 'process-start-retried', ...server.fields, ...endFields(result) },
        'a server process ended before it was ready: it is started again',
      );
    }
  }

  get #serving(): ServerProcess | undefined {
    return [...this.#alive].find(({ isServing }) => isServing);
  }

  get #starting(): ServerProcess | undefined {
    return [...this.#alive].find(({ isStarting }) => isStarting);
  }

  /** Reloads the modules of the serving process; undefined where there is none. */
  async reload(): Promise<ReloadOutcome | undefined> {
    // A process that is starting may have read the files before they changed.
    await this.#starting?.ready;
    return this.#serving?.reload();
  }

  expectReload(isComing: boolean): void {
    this.#serving?.expectReload(isComing);
  }

  /** Has each process, also one that drains, carry out an order. */
  order(order: Order, left: AbortSignal): Promise<Answer>[] {
    return Array.from(this.#alive, (server) => server.order(order, left));
  }

  /** Starts another process, and ends the serving one when the other is ready. */
  async replace(cause: LogFields): Promise<void> {
    const old = this.#serving;
    this.#isDue = false;
    if (old === undefined || this.#starting !== undefined || this.#isStopping) return;
    this.#replaceableAt = clockMs() + this.#replacements.next(clockMs());
    this.#log.warn(
      { event: 'process-replacing', ...old.fields, ...cause },
      'a server process is being replaced',
    );
    if (this.#sharesPort) {
      await this.#launch(false).ready;
      return;
    }
    // The process does not share its port: the next one can't listen before it has ended.
    old.stop('SIGTERM');
    await old.ended;
  }

  /** Drains and ends all processes of the slot. Resolves with whether all of them answered everything. */
  async stop(signal: NodeJS.Signals): Promise<boolean> {
    this.#isStopping = true;
    clearTimeout(this.#retry);
    const ending = [...this.#alive];
    for (const server of ending) server.stop(signal);
    const ends = await Promise.all(ending.map(({ ended }) => ended));
    return ends.every(({ asTold }) => asTold);
  }

  kill(): void {
    this.#isStopping = true;
    clearTimeout(this.#retry);
    for (const server of this.#alive) server.kill();
  }

  #launch(isFirst: boolean): ServerProcess {
    const server = new ServerProcess({ ...this.#order, isFirst }, this.#log, {
      onFigures: (figures) => this.#onFigures(server, figures),
      collect: () => this.#metrics.collect(),
    });
    this.#alive.add(server);
    this.#metrics.add(server);
    void server.ready.then((report) => {
      if (report !== undefined) this.#onReady(server, report);
    });
    void server.ended.then((end) => this.#onEnd(server, end));
    return server;
  }

  #onReady(server: ServerProcess, { sharesPort }: ReadyReport): void {
    if (this.#hasServed) {
      this.#log.info(
        { event: 'process-replaced', ...server.fields },
        'a server process has taken over',
      );
    }
    this.#hasServed = true;
    this.#sharesPort = sharesPort;
    for (const old of this.#alive) {
      if (old === server) continue;
      old.hasSuccessor = true;
      old.stop('SIGTERM');
    }
  }

  #onEnd(server: ServerProcess, end: ServerEnd): void {
    this.#alive.delete(server);
    if (this.#isStopping || end.isStopped) {
      if (!end.asTold) this.#onBadEnd(server, end);
      const isLast = this.#serving === undefined && this.#starting === undefined;
      if (!this.#isStopping && isLast && this.#retry === undefined) this.#launch(false);
      return;
    }
    // Before the slot has served, `start` reports the end.
    if (!this.#hasServed) return;
    if (this.#serving === undefined) {
      this.#onDeath(server, end);
      return;
    }
    this.#log.error(
      { event: 'process-replace-failed', ...server.fields, ...endFields(end) },
      'a server process could not be replaced yet: the old one serves on',
    );
  }

  #onBadEnd(server: ServerProcess, end: ServerEnd): void {
    this.#log.error(
      { event: 'process-stop-failed', ...server.fields, ...endFields(end) },
      `a server process did not end as it was told to: calls may be lost${blame(end.suspects).text}`,
    );
  }

  #onDeath(server: ServerProcess, end: ServerEnd): void {
    const retryMs = this.#deaths.next(clockMs());
    this.#log.error(
      { event: 'process-lost', ...server.fields, ...endFields(end), retryMs },
      `a server process ended: another takes its place${blame(end.suspects).text}`,
    );
    if (this.#starting !== undefined) return; // a successor is on its way
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#launch(false);
    }, retryMs);
  }

  #onFigures(server: ServerProcess, figures: Figures): void {
    if (!server.isServing || this.#starting !== undefined || this.#isStopping) return;
    if (this.#isDue || clockMs() < this.#replaceableAt) return;
    const reason = excessOf(figures, this.#order.config);
    if (reason === undefined) return;
    this.#isDue = true;
    const { zombies, rssBytes } = figures;
    this.#onExcess({ reason, zombies, rssMb: Math.round(rssBytes / 1024 ** 2) });
  }
}

function endFields({ code, signal, failure, suspects }: ServerEnd): LogFields {
  return {
    ...blame(suspects).fields,
    ...(code !== null && { code }),
    ...(signal !== null && { signal }),
    ...(failure !== undefined && { detail: failure.message }),
  };
}

/** Threads stuck in native code for which a process is replaced: only its end ends them. A few may come back by themselves. */
const maxZombies = 8;

/** Which limit a process exceeds; undefined: none. */
export function excessOf(
  { zombies, rssBytes }: Figures,
  { maxProcessMb }: Pick<Config, 'maxProcessMb'>,
): 'zombies' | 'memory' | undefined {
  if (zombies >= maxZombies) return 'zombies';
  if (maxProcessMb > 0 && rssBytes > maxProcessMb * 1024 ** 2) return 'memory';
  return undefined;
}
