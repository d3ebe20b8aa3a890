import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { totalmem } from 'node:os';
import { clockMs } from '../../core/base/clock.ts';
import { readMemoryKills, readMemoryLimit, readText } from '../../core/base/control-groups.ts';
import { blame, type Suspects } from '../../core/base/running-code.ts';
import { startTimer } from '../../core/base/timer.ts';
import type { Log, LogFields } from '../../core/observe/log.ts';
import type { MetricsSnapshot } from '../../core/observe/snapshot.ts';
import {
  Channel,
  type Figures,
  type FromServer,
  type ReadyReport,
  type ReloadOutcome,
  type StartFailure,
  type StartOrder,
  type ToServer,
} from './channel.ts';
import { forkServer, guardOf, takeAhead } from './fork-server.ts';
import { endingMs } from './guard.ts';
import type { GuardLine } from './guard-thread.ts';
import { type Answer, limitOf, type Order, type Outcome, type Stacks } from './orders.ts';

export interface ServerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it ended, where the process or the system said so. */
  readonly failure: StartFailure | undefined;
  /** The process was told to end, and had answered everything. */
  readonly asTold: boolean;
  /** Whose code held its main thread at the end, if any did for long. */
  readonly suspects: Suspects;
  readonly snapshot: MetricsSnapshot | undefined;
}

interface ServerEvents {
  onFigures(figures: Figures): void;
  /** A process asks for the snapshots of all. */
  collect(): Promise<readonly MetricsSnapshot[]>;
}

/** Of what comes from the guard of a process, so much is kept, characters. */
const longestLines = 16_384;

/** How long a process may take to say that it drains, whatever its grace. */
const reactionMs = 1000;

/** A process that drains tells its figures each second. One that was silent for so long stands still. */
const silenceMs = 2500;

const lookMs = 250;

/** How long a drained process may take to exit. A thread in native code would delay the exit until that code returns. */
const exitMs = 2000;

/** The supervisor's view of one server process. */
export class ServerProcess {
  readonly number: number;
  /** Resolves with undefined where the process ended before it was ready. */
  readonly ready: Promise<ReadyReport | undefined>;
  readonly ended: Promise<ServerEnd>;
  readonly #child: ChildProcess;
  readonly fields: LogFields;
  readonly #log: Log;
  readonly #events: ServerEvents;
  /** It takes new calls: it is ready, and its successor is not. */
  isServing = false;
  /** Whose code holds the main thread, if any has for long. */
  suspects: Suspects = { names: [], isCertain: false };
  /** The stack of a main thread that stands still. */
  stack: string | undefined;
  readonly #channel: Channel<ToServer, FromServer>;
  readonly #onReady: (report: ReadyReport | undefined) => void;
  readonly #watchdogTimeoutMs: number;
  /** How many processes the system had ended for want of memory when this one started. */
  readonly #memoryKills: number | undefined;
  #watchdog: Watchdog | undefined;
  #limit: NodeJS.Timeout | undefined;
  #failure: StartFailure | undefined;
  #wasStrange = false;
  #isStopping = false;
  #hasEnded = false;
  /** When the last message came, by `clockMs`. */
  #heardAt = Number.NEGATIVE_INFINITY;
  #stopSignal: NodeJS.Signals | undefined;
  #isDrained = false;
  #snapshot: MetricsSnapshot | undefined;

  /**
   * @param startLimitMs a process that is not ready after this time is killed
   */
  constructor(order: StartOrder, startLimitMs: number, log: Log, events: ServerEvents) {
    this.number = order.number;
    this.#log = log;
    this.#watchdogTimeoutMs = order.config.watchdogTimeoutMs;
    this.#events = events;
    let onReady: (report: ReadyReport | undefined) => void = () => {};
    this.ready = new Promise((resolve) => {
      onReady = resolve;
    });
    this.#onReady = onReady;
    this.#child = takeAhead() ?? forkServer();
    this.#memoryKills = readMemoryKills(readText);
    const serverPid = this.#child.pid;
    this.fields = order.of > 1 ? { process: order.number, serverPid } : { serverPid };
    this.#channel = new Channel(this.#child, {
      key: randomUUID(),
      onMessage: (message) => this.#receive(message),
      onStrange: () => this.#onStrange(),
    });
    this.#hearGuard();
    this.ended = this.#untilEnd();
    void this.#channel.tell({ type: 'start', order });
    this.#killAfter(startLimitMs, {
      message: `it was not ready after ${startLimitMs} ms: look for a module that loops or waits at its top level, or raise startTimeoutMs`,
      stack: undefined,
    });
  }

  /** Tells the process to drain and end within `graceMs`. See `#endAt`. */
  stop(signal: NodeJS.Signals, graceMs: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#stopSignal = signal;
    this.#watchdog?.stop();
    this.#child.kill(signal);
    clearTimeout(this.#limit);
    this.#endAt(clockMs(), graceMs, Math.max(graceMs, reactionMs));
  }

  /**
   * Kills the process when its grace is over. One that gives signs of life is about to end, and has some seconds more: with a
   * grace of next to nothing its end takes longer.
   */
  #endAt(toldAt: number, graceMs: number, afterMs: number): void {
    this.#limit = startTimer(afterMs, () => {
      // If this process was held up, what came meanwhile is read first.
      setImmediate(() => {
        if (this.#isDrained || this.#hasEnded) return;
        const now = clockMs();
        const isAlive = this.#heardAt > toldAt && now - this.#heardAt < silenceMs;
        if (isAlive && now < toldAt + graceMs + endingMs) {
          this.#endAt(toldAt, graceMs, lookMs);
          return;
        }
        const ms = Math.round(now - toldAt);
        const message = `it was killed: it had not ended ${ms} ms after it was told to`;
        this.#failure ??= { message, stack: undefined };
        this.kill();
      });
    });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Makes the process reload its modules; undefined where it has gone meanwhile. */
  async reload(): Promise<ReloadOutcome | undefined> {
    return (await this.#channel.ask({ type: 'reload' })) as ReloadOutcome | undefined;
  }

  expectReload(isComing: boolean): void {
    void this.#channel.tell({ type: 'expect-reload', isComing });
  }

  /** What the process has counted; undefined where it has gone, counts nothing, or does not answer in time. */
  async collect(limitMs: number): Promise<MetricsSnapshot | undefined> {
    const snapshot = await this.#channel.ask({ type: 'collect' }, limitMs);
    return snapshot as MetricsSnapshot | undefined;
  }

  /** Has the process carry out an order of the admin socket. */
  async order(order: Order, left: AbortSignal): Promise<Answer> {
    const about = { process: this.number, pid: this.#child.pid ?? 0 };
    // A main thread that stands still answers nothing. Its guard has told what it is in.
    if (order.order === 'stack' && this.stack !== undefined)
      return { ...about, answer: { main: this.stack, workers: [] } satisfies Stacks };
    const limitMs = limitOf(order);
    const outcome = await this.#channel.ask({ type: 'order', order }, limitMs, left);
    const error = `it did not answer within ${limitMs} ms`;
    return { ...about, ...((outcome as Outcome | undefined) ?? { error }) };
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
        this.#hasEnded = true;
        clearTimeout(this.#limit);
        this.#watchdog?.stop();
        this.#channel.end();
        this.#onReady(undefined);
        guardOf(child)?.destroy();
        // A SIGKILL that nobody here has sent.
        if (signal === 'SIGKILL' && readMemoryKills(readText) !== this.#memoryKills)
          this.#failure ??= { message: memoryFailure(), stack: undefined };
        const { suspects } = this;
        const [failure, snapshot] = [this.#failure, this.#snapshot];
        resolve({ code, signal, failure, asTold, suspects, snapshot });
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

  /** The guard of the process writes lines. Procedures can write there, too. */
  #hearGuard(): void {
    const stream = guardOf(this.#child);
    let text = '';
    stream?.on('error', () => {});
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (text + chunk).slice(-longestLines).split('\n');
      text = lines.pop() ?? '';
      const { key } = this.#channel;
      const line = lines.findLast((one) => one.startsWith(key));
      if (line === undefined) return;
      const { stack, ...suspects } = JSON.parse(line.slice(key.length)) as GuardLine;
      this.suspects = suspects;
      this.stack = stack;
    });
  }

  #onStrange(): void {
    if (this.#wasStrange) return;
    this.#wasStrange = true;
    this.#log.warn(
      { event: 'process-message-ignored', ...this.fields },
      'a server process sent what is no message to its supervisor: ignored, and not told again',
    );
  }

  #receive(message: FromServer): unknown {
    this.#heardAt = clockMs();
    switch (message.type) {
      case 'ready':
        if (!this.#isStopping) {
          clearTimeout(this.#limit);
          this.#watch();
        }
        return this.#onReady(message.report);
      case 'failed':
        this.#failure = message.failure;
        return;
      case 'figures':
        this.#watchdog?.heard();
        return this.#events.onFigures(message.figures);
      case 'drained':
        this.#isDrained = true;
        this.#snapshot = message.snapshot;
        return this.#killAfter(exitMs, undefined);
      case 'collect':
        return this.#events.collect();
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
      const { fields, text } = blame(this.suspects);
      this.#log.error(
        { event: 'process-stuck', ...this.fields, ...fields },
        `a server process does not answer: it is killed${text}`,
      );
      this.kill();
    });
  }

  #killAfter(limitMs: number, failure: StartFailure | undefined): void {
    clearTimeout(this.#limit);
    this.#limit = startTimer(limitMs, () => {
      this.#failure ??= failure;
      this.kill();
    });
  }
}

function memoryFailure(): string {
  const limit = readMemoryLimit(readText, totalmem());
  const what =
    limit === undefined
      ? 'the machine has'
      : `${limit.file} allows (${Math.round(limit.bytes / 1024 ** 2)} MB)`;
  return `the system ended it: the service used all the memory that ${what}; lower workerMemoryMb or workers, or give it more`;
}

/** How often the watchdog looks within its limit. */
const looks = 4;

/**
 * Calls `onSilence` once, when `heard` was not called for `limitMs` to `limitMs` and a quarter. The watchdog counts its
 * looks instead of time: after its own process was held up, messages that came meanwhile are read before the next look.
 *
 *     limitMs 4 s     heard  look  look  look  look  look
 *                       0     1     2     3     4     5 -> onSilence
 */
export class Watchdog {
  readonly #timer: NodeJS.Timeout;
  #inSilence = 0;

  constructor(limitMs: number, onSilence: () => void) {
    this.#timer = setInterval(() => {
      this.#inSilence++;
      if (this.#inSilence !== looks + 1) return;
      this.stop();
      onSilence();
    }, limitMs / looks);
  }

  heard(): void {
    this.#inSilence = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
