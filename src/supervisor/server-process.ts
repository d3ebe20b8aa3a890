import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { startTimer } from '../base/timer.ts';
import type { MetricsSnapshot } from '../observe/snapshot.ts';
import { mallocSettings } from './malloc-settings.ts';
import type {
  Figures,
  ReadyReport,
  ReloadOutcome,
  StartFailure,
  StartOrder,
  ToServer,
} from './messages.ts';
import { parseFromServer, parseOutcome } from './parse-message.ts';
import { parseSnapshot } from './parse-snapshot.ts';
import { Pending } from './pending.ts';
import { Watchdog } from './watchdog.ts';

/** How a process ended. */
export interface ServerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it ended, where the process or the system said so. */
  readonly failure: StartFailure | undefined;
  /** The process was told to end, and had answered everything. */
  readonly asTold: boolean;
  /** What the process had counted at its end. */
  readonly snapshot: MetricsSnapshot | undefined;
}

export interface ServerEvents {
  onFigures(server: ServerProcess, figures: Figures): void;
  /** The main thread of a process is stuck: it sent nothing for `watchdogTimeoutMs`. The process is being killed. */
  onSilence(server: ServerProcess): void;
  /** A process sent something that is not a message. Called at the first time only. */
  onStrangeMessage(server: ServerProcess): void;
  /** A process asks for the snapshots of all. */
  collect(): Promise<readonly MetricsSnapshot[]>;
}

/** How long a drained process may take to exit. A thread in native code would delay the exit until that code returns. */
const exitMs = 2000;

/** The supervisor's view of one server process. */
export class ServerProcess {
  readonly number: number;
  /** Resolves with undefined where the process ended before it was ready. */
  readonly ready: Promise<ReadyReport | undefined>;
  readonly ended: Promise<ServerEnd>;
  readonly #child: ChildProcess;
  readonly #events: ServerEvents;
  readonly #pending = new Pending();
  readonly #key = randomUUID();
  readonly #onReady: (report: ReadyReport | undefined) => void;
  readonly #watchdogTimeoutMs: number;
  #watchdog: Watchdog | undefined;
  #limit: NodeJS.Timeout | undefined;
  #failure: StartFailure | undefined;
  #isReady = false;
  #wasStrange = false;
  #isStopping = false;
  #stopSignal: NodeJS.Signals | undefined;
  #isDrained = false;
  #snapshot: MetricsSnapshot | undefined;

  /**
   * @param entry the file that a server process runs
   * @param startLimitMs a process that is not ready after this time is killed
   */
  constructor(entry: URL, order: StartOrder, startLimitMs: number, events: ServerEvents) {
    this.number = order.number;
    this.#watchdogTimeoutMs = order.config.watchdogTimeoutMs;
    this.#events = events;
    let onReady: (report: ReadyReport | undefined) => void = () => {};
    this.ready = new Promise((resolve) => {
      onReady = resolve;
    });
    this.#onReady = onReady;
    // The arguments are only shown by `ps`: the process reads its order. Two inspectors can't share a port.
    this.#child = fork(entry, [...order.modules], {
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
      env: { ...mallocSettings, ...process.env },
      serialization: 'advanced',
    });
    this.ended = this.#untilEnd();
    this.#child.on('message', (message) => this.#receive(message));
    this.#send({ type: 'start', key: this.#key, order });
    this.#killAfter(startLimitMs, {
      message: `it was not ready after ${startLimitMs} ms: look for a module that loops or waits at its top level, or raise startTimeoutMs`,
      stack: undefined,
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Tells the process to drain and end, and kills it after `limitMs`. */
  stop(signal: NodeJS.Signals, limitMs: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#stopSignal = signal;
    this.#watchdog?.stop();
    this.#child.kill(signal);
    this.#killAfter(limitMs, {
      message: `it was killed: it had not ended ${limitMs} ms after it was told to`,
      stack: undefined,
    });
  }

  /** Kills the process at once. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Makes the process reload its modules; undefined where it has gone meanwhile. */
  async reload(): Promise<ReloadOutcome | undefined> {
    const outcome = await this.#pending.ask((id) => this.#send({ type: 'reload', id }));
    return parseOutcome(outcome);
  }

  /** What the process has counted; undefined where it has gone, counts nothing, or does not answer in time. */
  async collect(limitMs: number): Promise<MetricsSnapshot | undefined> {
    const snapshot = await this.#pending.ask((id) => this.#send({ type: 'collect', id }), limitMs);
    return parseSnapshot(snapshot);
  }

  #untilEnd(): Promise<ServerEnd> {
    const child = this.#child;
    return new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null): void => {
        // A process that had not installed its signal handlers yet was ended by the signal itself.
        const asTold =
          this.#isDrained ||
          (this.#stopSignal !== undefined && (code === 0 || signal === this.#stopSignal));
        this.#isStopping = true;
        clearTimeout(this.#limit);
        this.#watchdog?.stop();
        this.#pending.end();
        this.#onReady(undefined);
        resolve({ code, signal, failure: this.#failure, asTold, snapshot: this.#snapshot });
      };
      child.once('exit', (code, signal) => {
        // Wait for the channel to close: the last messages of the process may still be on their way.
        if (child.connected) child.once('disconnect', () => end(code, signal));
        else end(code, signal);
      });
      child.on('error', (error) => {
        // Only a failed start counts here. After the start, the exit tells that something went wrong.
        if (child.pid !== undefined) return;
        this.#failure = { message: error.message, stack: error.stack };
        end(null, null);
      });
    });
  }

  #receive(received: unknown): void {
    const message = parseFromServer(received, this.#key);
    if (message === undefined) {
      if (!this.#wasStrange) this.#events.onStrangeMessage(this);
      this.#wasStrange = true;
    } else if (message.type === 'ready') {
      if (this.#isReady) return;
      this.#isReady = true;
      if (!this.#isStopping) {
        clearTimeout(this.#limit);
        this.#watch();
      }
      this.#onReady(message.report);
    } else if (message.type === 'failed') {
      this.#failure = message.failure;
    } else if (message.type === 'figures') {
      this.#watchdog?.heard();
      this.#events.onFigures(this, message.figures);
    } else if (message.type === 'drained') {
      this.#isDrained = true;
      this.#snapshot = message.snapshot;
      this.#killAfter(exitMs, undefined);
    } else if (message.type === 'reply') {
      this.#pending.reply(message.id, message.value);
    } else {
      void this.#collectFor(message.id);
    }
  }

  /** Starts the watchdog. It runs while the process serves: before and after that, the limits of start and stop hold. */
  #watch(): void {
    const limitMs = this.#watchdogTimeoutMs;
    if (limitMs === 0) return;
    this.#watchdog = new Watchdog(limitMs, () => {
      this.#failure ??= {
        message: `it was killed: its main thread was stuck for ${limitMs} ms: look for an inline procedure that does not return, or raise watchdogTimeoutMs`,
        stack: undefined,
      };
      this.#events.onSilence(this);
      this.kill();
    });
  }

  async #collectFor(id: number): Promise<void> {
    const snapshots = await this.#events.collect();
    this.#send({ type: 'collection', id, snapshots });
  }

  #send(message: ToServer): void {
    // The callback swallows the error of a channel that has just closed: the exit of the process is noticed elsewhere.
    if (this.#child.connected) this.#child.send(message, () => {});
    else this.#pending.end();
  }

  #killAfter(limitMs: number, failure: StartFailure | undefined): void {
    clearTimeout(this.#limit);
    this.#limit = startTimer(limitMs, () => {
      this.#failure ??= failure;
      this.kill();
    });
  }
}
