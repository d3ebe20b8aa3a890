import type { ChildProcess } from 'node:child_process';
import type { Config } from '../../core/config/config.ts';
import type { MetricsSnapshot } from '../../core/observe/snapshot.ts';
import type { Order } from './orders.ts';

export interface StartOrder {
  /** 1 to `of`. The successor of a process has the same number. */
  readonly number: number;
  readonly of: number;
  /** No process of this supervisor has listened yet: this one must check that its port is free. */
  readonly isFirst: boolean;
  readonly modules: readonly string[];
  /** The configuration, with the chosen ports instead of 0. */
  readonly config: Config;
  /** Of the supervisor. A successor may be of another one, after an update in place. */
  readonly version: string;
}

export interface ReadyReport {
  /** The text to print once all processes are ready. Its first line is the message of the line of the log. */
  readonly banner: string;
  /** Fields of that line. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** A successor can listen while this process still does. */
  readonly sharesPort: boolean;
}

/** Why a process could not start: one line, and the stack, which TANDEM_DEBUG=1 shows. */
export interface StartFailure {
  readonly message: string;
  readonly stack: string | undefined;
  /** The operating system's code (EADDRINUSE and others), where it refused something. */
  readonly code?: string | undefined;
}

/**
 * Figures that decide whether a process must be replaced. A process sends them regularly, which also shows that its main
 * thread is not stuck.
 */
export interface Figures {
  readonly zombies: number;
  readonly rssBytes: number;
}

/** How a reload ended; `error` is one line. */
export type ReloadOutcome = { readonly changed: boolean } | { readonly error: string };

/** From the supervisor to a server process. Signals are sent as signals of the operating system. */
export type ToServer =
  | { readonly type: 'start'; readonly order: StartOrder }
  /** Asks for a {@link ReloadOutcome}. */
  | { readonly type: 'reload' }
  /** A reload of all processes has begun, and this one's turn comes; or it is over. */
  | { readonly type: 'expect-reload'; readonly isComing: boolean }
  /** Asks for an {@link Outcome}. */
  | { readonly type: 'order'; readonly order: Order }
  /** Asks what the process has counted: a `MetricsSnapshot`. */
  | { readonly type: 'collect' };

/** From a server process to the supervisor. */
export type FromServer =
  | { readonly type: 'ready'; readonly report: ReadyReport }
  | { readonly type: 'failed'; readonly failure: StartFailure }
  | { readonly type: 'figures'; readonly figures: Figures }
  /** Every call is answered: only threads that have not ended keep the process alive. */
  | { readonly type: 'drained'; readonly snapshot: MetricsSnapshot | undefined }
  /** Asks for the snapshots of all processes. */
  | { readonly type: 'collect' };

/** What travels. `id`: of a question, which has an answer. */
type Letter<Message> = { readonly key: string; readonly id?: number } & (
  | { readonly message: Message }
  | { readonly answer: unknown }
  /** Nobody waits for the answer any more. */
  | { readonly left: true }
);

type Port = ChildProcess | NodeJS.Process;

export interface ChannelOptions<Message> {
  /** undefined: that of the first message, which is the supervisor's. */
  readonly key?: string;
  /** Acts on a message. What it returns answers a question. @param left aborts when nobody waits for the answer */
  readonly onMessage: (message: Message, left: AbortSignal) => unknown;
  /** What came is not from the other side. */
  readonly onStrange?: () => void;
}

/**
 * One end of the channel between the supervisor and a server process; both use this class. The code of procedures runs in the
 * server process, and whatever anybody writes to the channel arrives here: each message has a secret key, and one without it
 * is somebody else's. Messages are dropped when the other side has gone.
 */
export class Channel<Sent, Received> {
  readonly #port: Port;
  /** undefined: the process could not be started. */
  readonly #post: Port['send'];
  onMessage: ChannelOptions<Received>['onMessage'];
  readonly #onStrange: ChannelOptions<Received>['onStrange'];
  #key: string | undefined;
  readonly #asked = new Map<number, (answer: unknown) => void>();
  readonly #answering = new Map<number, AbortController>();
  #lastId = 0;

  constructor(port: Port, { key, onMessage, onStrange }: ChannelOptions<Received>) {
    this.#port = port;
    this.#post = port.send?.bind(port);
    this.#key = key;
    this.onMessage = onMessage;
    this.#onStrange = onStrange;
    port.on('message', (letter: unknown) => void this.#receive(letter as Letter<Received>));
    port.once('disconnect', () => this.end());
  }

  get key(): string {
    return this.#key ?? '';
  }

  /** Resolves when the message is sent, or can't be. */
  tell(message: Sent): Promise<void> {
    return this.#send({ key: this.key, message });
  }

  /**
   * Asks a question.
   *
   * @param left aborts when nobody waits for the answer any more
   * @returns undefined where the other side has gone, or has not answered after `limitMs`
   */
  ask(message: Sent, limitMs?: number, left?: AbortSignal): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      const leave = (): void => void this.#send({ key: this.key, id, left: true });
      const end = (answer: unknown): void => {
        clearTimeout(timer);
        left?.removeEventListener('abort', leave);
        this.#asked.delete(id);
        resolve(answer);
      };
      const timer = limitMs === undefined ? undefined : setTimeout(end, limitMs);
      this.#asked.set(id, end);
      void this.#send({ key: this.key, id, message });
      left?.addEventListener('abort', leave);
    });
  }

  /** Ends all questions: the other side has gone. */
  end(): void {
    for (const resolve of this.#asked.values()) resolve(undefined);
  }

  async #receive(letter: Letter<Received> | undefined | null): Promise<void> {
    const key = letter?.key;
    this.#key ??= key;
    if (letter === undefined || letter === null || key === undefined || key !== this.#key) {
      this.#onStrange?.();
      return;
    }
    const { id } = letter;
    if ('answer' in letter) this.#asked.get(Number(id))?.(letter.answer);
    else if ('left' in letter) this.#answering.get(Number(id))?.abort();
    else {
      const left = new AbortController();
      if (id !== undefined) this.#answering.set(id, left);
      const answer = await this.onMessage(letter.message, left.signal);
      if (id === undefined) return;
      this.#answering.delete(id);
      await this.#send({ key, id, answer });
    }
  }

  #send(letter: Letter<Sent>): Promise<void> {
    return new Promise((resolve) => {
      // The callback also gets the error of a channel that has just closed.
      if (this.#port.connected) {
        this.#post?.(letter, undefined, undefined, () => resolve());
        return;
      }
      this.end();
      resolve();
    });
  }
}
