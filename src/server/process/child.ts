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
import type { Order, Outcome } from './orders.ts';

/** What a process that serves does for its supervisor. */
export interface ServerActions {
  reload(): Promise<ReloadOutcome>;
  expectReload(isComing: boolean): void;
  /** What this process has counted; undefined: nothing. */
  collect(): Promise<MetricsSnapshot | undefined>;
  order(order: Order, left: AbortSignal): Promise<Outcome>;
}

/**
 * A server process's own view of itself, as its supervisor's is `ServerProcess`. Only this class can use the channel: it removes
 * `process.send`, so that `process.send?.('ready')` of a module does nothing.
 */
export class SupervisorLink {
  readonly #channel: Channel<FromServer, ToServer>;
  /** What this process is to serve; undefined: the supervisor has ended without an order. */
  readonly order: Promise<StartOrder | undefined>;
  #onOrder: (order: StartOrder | undefined) => void = () => {};
  #actions: ServerActions | undefined;

  /** @throws Error in a process that no supervisor has started */
  constructor() {
    if (process.send === undefined) {
      throw new Error('this file is started by tandem serve, not by hand');
    }
    this.order = new Promise((resolve) => {
      this.#onOrder = resolve;
    });
    this.#channel = new Channel(process, { onMessage: (...given) => this.#act(...given) });
    // `process.disconnect` stays: Node itself calls it by that name when the other side has gone.
    delete process.send;
    this.onLost(() => this.#onOrder(undefined));
  }

  /** The secret of the channel, once there is an order. */
  get key(): string {
    return this.#channel.key;
  }

  /** @param onLost is called once, when the supervisor has gone */
  onLost(onLost: () => void): void {
    if (process.connected) process.once('disconnect', onLost);
    else onLost();
  }

  /** Tells the supervisor that this process serves. From now on `actions` answer the supervisor's questions. */
  ready(report: ReadyReport, actions: ServerActions): void {
    this.#actions = actions;
    void this.#channel.tell({ type: 'ready', report });
  }

  /** Tells the supervisor why this process can't start. Resolves when the message is sent: the process may then end. */
  failed(failure: StartFailure): Promise<void> {
    return this.#channel.tell({ type: 'failed', failure });
  }

  figures(figures: Figures): void {
    void this.#channel.tell({ type: 'figures', figures });
  }

  /** @param snapshot what this process has counted in its life */
  drained(snapshot: MetricsSnapshot | undefined): Promise<void> {
    return this.#channel.tell({ type: 'drained', snapshot });
  }

  /** What all processes of the service have counted; undefined if the supervisor has gone. */
  async collectAll(): Promise<readonly MetricsSnapshot[] | undefined> {
    return (await this.#channel.ask({ type: 'collect' })) as readonly MetricsSnapshot[] | undefined;
  }

  #act(message: ToServer, left: AbortSignal): unknown {
    const actions = this.#actions;
    switch (message.type) {
      case 'start':
        return this.#onOrder(message.order);
      case 'reload':
        return actions?.reload();
      case 'expect-reload':
        return actions?.expectReload(message.isComing);
      case 'order':
        return actions?.order(message.order, left) ?? { error: 'it does not serve yet' };
      case 'collect':
        return actions?.collect();
    }
  }
}
