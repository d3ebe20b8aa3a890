import type { MetricsSnapshot } from '../../core/observe/snapshot.ts';
import type { Order } from './admin/orders.ts';
import {
  type Figures,
  type FromServer,
  Pending,
  parseToServer,
  type ReadyReport,
  type ReloadOutcome,
  type StartFailure,
  type StartOrder,
  type ToServer,
} from './messages.ts';

export interface ChannelHandlers {
  reload(): Promise<ReloadOutcome>;
  expectReload(isComing: boolean): void;
  /** What this process has counted; undefined: nothing. */
  collect(): MetricsSnapshot | undefined;
  /** Carries out an order of the admin socket. */
  order(order: Order, left: AbortSignal): Promise<unknown>;
}

/**
 * The channel of a server process to its supervisor. Messages are dropped when the supervisor has gone. Only this class
 * can use the channel: it removes `process.send`, so that `process.send?.('ready')` of a module does nothing.
 */
export class SupervisorChannel {
  readonly #pending = new Pending();
  readonly #post: NonNullable<NodeJS.Process['send']>;
  #key: string | undefined;
  readonly #order: Promise<StartOrder | undefined>;
  #onOrder: (order: StartOrder | undefined) => void = () => {};
  #handlers: ChannelHandlers | undefined;
  /** Orders that are carried out now, by their numbers. */
  readonly #orders = new Map<number, AbortController>();

  /** @throws Error in a process that no supervisor has started */
  constructor() {
    if (process.send === undefined) {
      throw new Error('this file is started by tandem serve, not by hand');
    }
    this.#post = process.send.bind(process);
    // `process.disconnect` stays: Node itself calls it by that name when the other side has gone.
    delete process.send;
    this.#order = new Promise((resolve) => {
      this.#onOrder = resolve;
    });
    process.on('message', (message) => void this.#receive(message));
    const end = (): void => {
      this.#onOrder(undefined);
      this.#pending.end();
    };
    if (process.connected) process.once('disconnect', end);
    else end();
  }

  /** What this process is to serve; undefined: the supervisor has ended without an order. */
  order(): Promise<StartOrder | undefined> {
    return this.#order;
  }

  /** @param onLost is called once, when the supervisor has gone */
  onLost(onLost: () => void): void {
    if (process.connected) process.once('disconnect', onLost);
    else onLost();
  }

  /** Tells the supervisor that this process serves. From now on `handlers` answer the supervisor's questions. */
  ready(report: ReadyReport, handlers: ChannelHandlers): void {
    this.#handlers = handlers;
    void this.#send({ type: 'ready', report });
  }

  /** Tells the supervisor why this process can't start. Resolves when the message is sent: the process may then end. */
  failed(failure: StartFailure): Promise<void> {
    return this.#send({ type: 'failed', failure });
  }

  figures(figures: Figures): void {
    void this.#send({ type: 'figures', figures });
  }

  /** @param snapshot what this process has counted in its life */
  drained(snapshot: MetricsSnapshot | undefined): Promise<void> {
    return this.#send({ type: 'drained', snapshot });
  }

  /** What all processes of the service have counted; undefined where the supervisor has gone. */
  async collectAll(): Promise<readonly MetricsSnapshot[] | undefined> {
    const snapshots = await this.#pending.ask((id) => void this.#send({ type: 'collect-all', id }));
    return snapshots as readonly MetricsSnapshot[] | undefined;
  }

  async #receive(received: unknown): Promise<void> {
    const message = parseToServer(received);
    if (message === undefined) return;
    if (message.type === 'start') {
      this.#key ??= message.key;
      this.#onOrder(message.order);
    } else if (message.type === 'collection') {
      this.#pending.reply(message.id, message.snapshots);
    } else if (message.type === 'expect-reload') {
      this.#handlers?.expectReload(message.isComing);
    } else if (message.type === 'leave') {
      this.#orders.get(message.id)?.abort();
    } else if (this.#handlers !== undefined) {
      const { id } = message;
      await this.#send({ type: 'reply', id, value: await this.#answer(message, this.#handlers) });
    }
  }

  async #answer(question: Question, handlers: ChannelHandlers): Promise<unknown> {
    if (question.type === 'reload') return handlers.reload();
    if (question.type === 'collect') return handlers.collect();
    const left = new AbortController();
    this.#orders.set(question.id, left);
    try {
      return await handlers.order(question.order, left.signal);
    } finally {
      this.#orders.delete(question.id);
    }
  }

  #send(message: FromServer): Promise<void> {
    return new Promise((resolve) => {
      // The callback also gets the error of a channel that has just closed.
      if (process.connected) {
        this.#post({ key: this.#key, ...message }, undefined, undefined, () => resolve());
      } else {
        this.#pending.end();
        resolve();
      }
    });
  }
}

type Question = Extract<ToServer, { readonly type: 'reload' | 'collect' | 'order' }>;
