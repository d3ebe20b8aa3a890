import { clockMs } from '../base/clock.ts';
import { type DelayPolicy, RestartDelay } from '../base/restart-delay.ts';
import type { Log, LogFields } from '../observe/log.ts';
import type { MetricsSnapshot } from '../observe/snapshot.ts';
import type { Figures, ReadyReport, ReloadOutcome, StartOrder } from './messages.ts';
import { excessOf, type ReplacementLimits } from './replacement.ts';
import { type ServerEnd, ServerProcess } from './server-process.ts';

export interface SlotOptions extends ReplacementLimits {
  /** The file that a server process runs. */
  readonly entry: URL;
  /** How long a process may take until it is ready. */
  readonly startLimitMs: number;
  /** How long a process may take to end after it was told to. */
  readonly stopLimitMs: number;
}

export interface SlotEvents {
  /** The serving process exceeds a limit: call `replace(cause)` when no other process is being replaced. */
  onExcess(slot: Slot, cause: LogFields): void;
  onLaunch(server: ServerProcess): void;
  collect(): Promise<readonly MetricsSnapshot[]>;
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
 *     #current    serves, until its successor is ready, then drains
 *     #next       starts, until it is ready, then becomes #current
 *     #alive      both, and older ones that still drain
 */
export class Slot {
  readonly #order: Omit<StartOrder, 'isFirst'>;
  readonly #options: SlotOptions;
  readonly #events: SlotEvents;
  readonly #log: Log;
  readonly #deaths = new RestartDelay(afterDeath);
  readonly #replacements = new RestartDelay(afterReplacement);
  readonly #alive = new Set<ServerProcess>();
  #current: ServerProcess | undefined;
  #next: ServerProcess | undefined;
  #sharesPort = false;
  #hasServed = false;
  #isStopping = false;
  /** `onExcess` was called, and `replace` has not been called yet. */
  #isDue = false;
  /** No replacement before this reading of `clockMs`. */
  #replaceableAt = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(
    order: Omit<StartOrder, 'isFirst'>,
    options: SlotOptions,
    log: Log,
    events: SlotEvents,
  ) {
    this.#order = order;
    this.#options = options;
    this.#log = log;
    this.#events = events;
  }

  /** The slot's processes that have not ended. */
  get alive(): ReadonlySet<ServerProcess> {
    return this.#alive;
  }

  /** The process that serves; undefined while none does. */
  get current(): ServerProcess | undefined {
    return this.#current;
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
      if ('banner' in result || tries === startTries || !mayBeChance(result, isFirst)) {
        return result;
      }
      if (this.#isStopping) return result;
      this.#log.warn(
        { event: 'process-start-retried', ...this.#fields(server), ...endFields(result) },
        'a server process ended before it was ready: it is started again',
      );
    }
  }

  /** Reloads the modules of the serving process; undefined where there is none. */
  async reload(): Promise<ReloadOutcome | undefined> {
    // A process that is starting may have read the files before they changed.
    await this.#next?.ready;
    return this.#current?.reload();
  }

  /** Starts another process, and ends the serving one when the other is ready. */
  async replace(cause: LogFields): Promise<void> {
    const old = this.#current;
    this.#isDue = false;
    if (old === undefined || this.#next !== undefined || this.#isStopping) return;
    this.#replaceableAt = clockMs() + this.#replacements.next(clockMs());
    this.#log.warn(
      { event: 'process-replacing', ...this.#fields(old), ...cause },
      'a server process is being replaced',
    );
    if (this.#sharesPort) {
      await this.#launch(false).ready;
      return;
    }
    // The process does not share its port: the next one can't listen before it has ended.
    this.#current = undefined;
    old.stop('SIGTERM', this.#options.stopLimitMs);
    await old.ended;
  }

  /** Drains and ends all processes of the slot. Resolves with whether all of them answered everything. */
  async stop(signal: NodeJS.Signals): Promise<boolean> {
    this.#isStopping = true;
    clearTimeout(this.#retry);
    const ending = [...this.#alive];
    for (const server of ending) server.stop(signal, this.#options.stopLimitMs);
    const ends = await Promise.all(ending.map(({ ended }) => ended));
    return ends.every(({ asTold }) => asTold);
  }

  /** Kills all processes of the slot at once. */
  kill(): void {
    this.#isStopping = true;
    clearTimeout(this.#retry);
    for (const server of this.#alive) server.kill();
  }

  #launch(isFirst: boolean): ServerProcess {
    const { entry, startLimitMs } = this.#options;
    const server = new ServerProcess(entry, { ...this.#order, isFirst }, startLimitMs, {
      onFigures: (from, figures) => this.#onFigures(from, figures),
      onSilence: (from) => this.#onSilence(from),
      onStrangeMessage: (from) => this.#onStrangeMessage(from),
      collect: () => this.#events.collect(),
    });
    this.#next = server;
    this.#alive.add(server);
    this.#events.onLaunch(server);
    void server.ready.then((report) => {
      if (report !== undefined) this.#onReady(server, report);
    });
    void server.ended.then((end) => this.#onEnd(server, end));
    return server;
  }

  #onReady(server: ServerProcess, { sharesPort }: ReadyReport): void {
    if (this.#hasServed) {
      this.#log.info(
        { event: 'process-replaced', ...this.#fields(server) },
        'a server process has taken over',
      );
    }
    this.#hasServed = true;
    this.#sharesPort = sharesPort;
    const old = this.#current;
    this.#current = server;
    this.#next = undefined;
    old?.stop('SIGTERM', this.#options.stopLimitMs);
  }

  #onEnd(server: ServerProcess, end: ServerEnd): void {
    this.#alive.delete(server);
    const wasCurrent = server === this.#current;
    const wasNext = server === this.#next;
    if (wasCurrent) this.#current = undefined;
    if (wasNext) this.#next = undefined;
    if (this.#isStopping) {
      if (!end.asTold) this.#onBadEnd(server, end);
      return;
    }
    // Before the slot has served, `start` reports the end.
    if (!this.#hasServed) return;
    if (!wasCurrent && !wasNext) this.#onRetired(server, end);
    else if (this.#current !== undefined) this.#onFailedReplacement(server, end);
    else this.#onDeath(server, end);
  }

  #onBadEnd(server: ServerProcess, end: ServerEnd): void {
    this.#log.error(
      { event: 'process-stop-failed', ...this.#fields(server), ...endFields(end) },
      'a server process did not end as it was told to: calls may be lost',
    );
  }

  #onRetired(server: ServerProcess, end: ServerEnd): void {
    if (!end.asTold) this.#onBadEnd(server, end);
    if (this.#current === undefined && this.#next === undefined && this.#retry === undefined) {
      this.#launch(false);
    }
  }

  #onFailedReplacement(server: ServerProcess, end: ServerEnd): void {
    this.#log.error(
      { event: 'process-replace-failed', ...this.#fields(server), ...endFields(end) },
      'a server process could not be replaced yet: the old one serves on',
    );
  }

  #onDeath(server: ServerProcess, end: ServerEnd): void {
    const retryMs = this.#deaths.next(clockMs());
    this.#log.error(
      { event: 'process-lost', ...this.#fields(server), ...endFields(end), retryMs },
      'a server process ended: another takes its place',
    );
    if (this.#next !== undefined) return; // a successor was on its way
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#launch(false);
    }, retryMs);
  }

  #onFigures(server: ServerProcess, figures: Figures): void {
    if (server !== this.#current || this.#next !== undefined || this.#isStopping) return;
    if (this.#isDue || clockMs() < this.#replaceableAt) return;
    const reason = excessOf(figures, this.#options);
    if (reason === undefined) return;
    this.#isDue = true;
    const { zombies, rssBytes } = figures;
    this.#events.onExcess(this, { reason, zombies, rssMb: Math.round(rssBytes / 1024 ** 2) });
  }

  #onSilence(server: ServerProcess): void {
    this.#log.error(
      { event: 'process-stuck', ...this.#fields(server) },
      'a server process does not answer: it is killed',
    );
  }

  #onStrangeMessage(server: ServerProcess): void {
    this.#log.warn(
      { event: 'process-message-ignored', ...this.#fields(server) },
      'a server process sent what is no message to its supervisor: ignored, and not told again',
    );
  }

  #fields({ number, pid }: ServerProcess): LogFields {
    return this.#order.of > 1 ? { process: number, serverPid: pid } : { serverPid: pid };
  }
}

/** Whether another start of the same process may succeed. */
function mayBeChance({ signal, failure }: ServerEnd, isFirst: boolean): boolean {
  // Another process serves, so the configuration and the modules are right.
  if (!isFirst) return true;
  return signal !== null && failure === undefined;
}

function endFields({ code, signal, failure }: ServerEnd): LogFields {
  return {
    ...(code !== null && { code }),
    ...(signal !== null && { signal }),
    ...(failure !== undefined && { detail: failure.message }),
  };
}
