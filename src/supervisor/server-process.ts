import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { MetricsSnapshot } from '../observe/snapshot.ts';
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
  /** Why, where it or the system said so. */
  readonly failure: StartFailure | undefined;
  /** It was told to, and everything was answered. */
  readonly asTold: boolean;
  /** What it had counted at its end. */
  readonly snapshot: MetricsSnapshot | undefined;
}

export interface ServerEvents {
  onFigures(server: ServerProcess, figures: Figures): void;
  /** Its main thread is stuck: nothing was heard of it for `watchdogTimeoutMs`. It is being killed. */
  onSilence(server: ServerProcess): void;
  /** It sent what is no message: told once in its life. */
  onStrangeMessage(server: ServerProcess): void;
  /** A process asks for the snapshots of all. */
  collect(): Promise<readonly MetricsSnapshot[]>;
}

/** What a drained process may still take: a thread in native code would hold it for as long as that lasts. */
const exitMs = 2000;

/** One server process, as its supervisor holds it. */
export class ServerProcess {
  readonly number: number;
  /** undefined where it ended before it was ready. */
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
   * @param startLimitMs after which one that is not ready is ended
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
    // The modules are there for `ps`; what counts is the order. Inspectors can't share their port.
    this.#child = fork(entry, [...order.modules], {
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
      serialization: 'advanced',
    });
    this.ended = this.#untilEnd();
    this.#child.on('message', (message) => this.#receive(message));
    this.#send({ type: 'start', key: this.#key, order });
    this.#killAfter(startLimitMs, {
      message: `it was not ready after ${startLimitMs} ms: look for a module that waits at its top level, or raise startTimeoutMs`,
      stack: undefined,
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Asks it to drain and end, and ends it after `limitMs`. */
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

  /** Ends it at once. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Reloads its modules in place; undefined where it has gone meanwhile. */
  async reload(): Promise<ReloadOutcome | undefined> {
    const outcome = await this.#pending.ask((id) => this.#send({ type: 'reload', id }));
    return parseOutcome(outcome);
  }

  /** What it has counted; undefined where it has gone, counts nothing, or does not answer in time. */
  async collect(limitMs: number): Promise<MetricsSnapshot | undefined> {
    const snapshot = await this.#pending.ask((id) => this.#send({ type: 'collect', id }), limitMs);
    return parseSnapshot(snapshot);
  }

  #untilEnd(): Promise<ServerEnd> {
    const child = this.#child;
    return new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null): void => {
        // One that had not come to listen to signals yet ended by the signal itself.
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
        // What it sent last may still be on its way.
        if (child.connected) child.once('disconnect', () => end(code, signal));
        else end(code, signal);
      });
      child.on('error', (error) => {
        // Of the start only: whatever else goes wrong with a child is told by its exit.
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

  /** From when it serves: until then and from when it is stopped other limits hold. */
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
    // One that has gone is told by its exit; without a callback its closed channel were an error.
    if (this.#child.connected) this.#child.send(message, () => {});
    else this.#pending.end();
  }

  #killAfter(limitMs: number, failure: StartFailure | undefined): void {
    clearTimeout(this.#limit);
    this.#limit = setTimeout(() => {
      this.#failure ??= failure;
      this.kill();
    }, limitMs);
  }
}
