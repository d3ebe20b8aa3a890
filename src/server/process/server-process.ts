import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { totalmem } from 'node:os';
import { clockMs } from '../../core/base/clock.ts';
import { readMemoryKills, readMemoryLimit, readText } from '../../core/base/control-groups.ts';
import { blame, type Suspects } from '../../core/base/running-code.ts';
import { startTimer } from '../../core/base/timer.ts';
import type { Config } from '../../core/config/config.ts';
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
import { endingMs, forkServer, guardOf, takeAhead } from './fork-server.ts';
import type { GuardLine } from './guard-thread.ts';
import { type Answer, limitOf, type Order, type Outcome, type Stacks } from './orders.ts';

export interface ServerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it ended, where the process or the system said so. */
  readonly failure: StartFailure | undefined;
  /** The supervisor has told it to end. */
  readonly isStopped: boolean;
  /** Somebody has told it to end, and it had answered everything. */
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
const maxLinesLength = 16_384;

/** How long a process may take to say that it drains, whatever its grace. */
const reactionMs = 1000;

/** A process that drains tells its figures each second. One that was silent for so long stands still. */
const silenceMs = 2500;

const lookMs = 250;

/** How long a drained process may take to exit. A thread in native code would delay the exit until that code returns. */
const exitMs = 2000;

/**
 * The life of a server process. It goes forward only: what comes too late for its state changes nothing.
 *
 *     starting ---ready---> serving ---stop()---> stopping ---drained---> drained ---exit---> ended
 *
 * Each step may be left out: a process may end at any time, and drains if anybody sends it a signal. It is killed at the limit of its
 * state:
 *
 *     starting   it is not ready after twice `startTimeoutMs`
 *     serving    its main thread gives no sign of life for `watchdogTimeoutMs`
 *     stopping   it has not drained within its grace, and gives no sign of life
 *     drained    it has not exited after `exitMs`
 */
const State = { starting: 0, serving: 1, stopping: 2, drained: 3, ended: 4 } as const;
type State = (typeof State)[keyof typeof State];

/** The supervisor's view of one server process. */
export class ServerProcess {
  readonly number: number;
  /** Resolves with undefined where the process ended before it was ready. */
  readonly ready: Promise<ReadyReport | undefined>;
  readonly ended: Promise<ServerEnd>;
  readonly fields: LogFields;
  hasSuccessor = false;
  /** Whose code holds the main thread, if any has for long. */
  suspects: Suspects = { names: [], isCertain: false };
  /** The stack of a main thread that stands still. */
  stack: string | undefined;
  readonly #child: ChildProcess;
  readonly #log: Log;
  readonly #events: ServerEvents;
  readonly #channel: Channel<ToServer, FromServer>;
  readonly #config: Config;
  /** How many processes the system had ended for want of memory when this one started. */
  readonly #memoryKills: number | undefined;
  #state: State = State.starting;
  #endLimit: () => void = () => {};
  #onReady: (report: ReadyReport | undefined) => void = () => {};
  /** Told each time that a sign of life comes. */
  #onHeard: () => void = () => {};
  #failure: StartFailure | undefined;
  #stopSignal: NodeJS.Signals | undefined;
  #snapshot: MetricsSnapshot | undefined;
  #wasStrange = false;

  constructor(order: StartOrder, log: Log, events: ServerEvents) {
    this.number = order.number;
    this.#log = log;
    this.#config = order.config;
    this.#events = events;
    this.ready = new Promise((resolve) => {
      this.#onReady = resolve;
    });
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
    // One startTimeoutMs for the main thread's own loading of the modules, one for the workers'.
    const startLimitMs = 2 * order.config.startTimeoutMs;
    const files = [...order.modules, order.config.hooks].filter((file) => file !== '');
    const what = files.length === 0 ? 'the start' : `loading ${files.join(', ')}`;
    this.#killAfter(
      startLimitMs,
      `${what} had not ended after ${startLimitMs} ms: look for code that loops or waits at the top level, or raise startTimeoutMs`,
    );
  }

  get isStarting(): boolean {
    return this.#state === State.starting;
  }

  /** It takes new calls: it is ready, and was not told to end. */
  get isServing(): boolean {
    return this.#state === State.serving;
  }

  /** Tells the process to drain and end within its grace. Idempotent. */
  stop(signal: NodeJS.Signals): void {
    this.#stopSignal ??= signal;
    if (!this.#enter(State.stopping)) return;
    this.#child.kill(signal);
    this.#limitStop(clockMs());
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

  /** @returns false: the process is in that state, or beyond */
  #enter(state: State): boolean {
    if (state <= this.#state) return false;
    this.#state = state;
    this.#endLimit();
    return true;
  }

  #receive(message: FromServer): unknown {
    this.#onHeard();
    switch (message.type) {
      case 'ready':
        if (this.#enter(State.serving)) this.#watch();
        return this.#onReady(message.report);
      case 'failed':
        this.#failure = message.failure;
        return;
      case 'figures':
        return this.#events.onFigures(message.figures);
      case 'drained':
        this.#snapshot = message.snapshot;
        if (this.#enter(State.drained)) this.#killAfter(exitMs);
        return;
      case 'collect':
        return this.#events.collect();
    }
  }

  #untilEnd(): Promise<ServerEnd> {
    const child = this.#child;
    return new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null): void => {
        const isStopped = this.#stopSignal !== undefined;
        // A process that had not installed its signal handlers yet was ended by the signal itself.
        const isTold = isStopped && (code === 0 || signal === this.#stopSignal);
        const asTold = isTold || this.#state === State.drained;
        this.#enter(State.ended);
        this.#channel.end();
        this.#onReady(undefined);
        guardOf(child)?.destroy();
        // A SIGKILL that nobody here has sent.
        if (signal === 'SIGKILL' && readMemoryKills(readText) !== this.#memoryKills)
          this.#failure ??= { message: memoryFailure(), stack: undefined };
        const { suspects } = this;
        const [failure, snapshot] = [this.#failure, this.#snapshot];
        resolve({ code, signal, failure, isStopped, asTold, suspects, snapshot });
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
      const lines = (text + chunk).slice(-maxLinesLength).split('\n');
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

  #watch(): void {
    const limitMs = this.#config.watchdogTimeoutMs;
    if (limitMs === 0) return;
    const watchdog = new Watchdog(limitMs, () => {
      const { fields, text } = blame(this.suspects);
      this.#log.error(
        { event: 'process-stuck', ...this.fields, ...fields },
        `a server process does not answer: it is killed${text}`,
      );
      this.#killFor(
        `it was killed: its main thread was stuck for ${limitMs} ms: look for an inline procedure that does not return, or raise watchdogTimeoutMs`,
      );
    });
    this.#onHeard = () => watchdog.heard();
    this.#endLimit = () => watchdog.stop();
  }

  /**
   * The limit of a process that was told to end: its grace. One that gives signs of life is about to end, and has some seconds more:
   * with a grace of next to nothing its end takes longer.
   */
  #limitStop(toldAt: number): void {
    const graceMs = this.#config.shutdownGraceMs;
    let heardAt = Number.NEGATIVE_INFINITY;
    this.#onHeard = () => {
      heardAt = clockMs();
    };
    const look = (): void => {
      if (this.#state !== State.stopping) return;
      const now = clockMs();
      if (now - heardAt < silenceMs && now < toldAt + graceMs + endingMs) {
        wait(lookMs);
        return;
      }
      const ms = Math.round(now - toldAt);
      this.#killFor(`it was killed: it had not ended ${ms} ms after it was told to`);
    };
    const wait = (ms: number): void => {
      // If this process was held up, what came meanwhile is read first.
      const timer = startTimer(ms, () => setImmediate(look));
      this.#endLimit = () => clearTimeout(timer);
    };
    wait(Math.max(graceMs, reactionMs));
  }

  #killAfter(limitMs: number, why?: string): void {
    const timer = startTimer(limitMs, () => this.#killFor(why));
    this.#endLimit = () => clearTimeout(timer);
  }

  #killFor(why: string | undefined): void {
    if (why !== undefined) this.#failure ??= { message: why, stack: undefined };
    this.kill();
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
