import type { MetricsSnapshot } from '../observe/snapshot.ts';
import type {
  Figures,
  FromServer,
  ReadyReport,
  ReloadOutcome,
  StartFailure,
  StartOrder,
  ToServer,
} from './messages.ts';
import { Pending } from './pending.ts';

export interface LinkHandlers {
  reload(): Promise<ReloadOutcome>;
  /** What this process has counted; undefined: nothing. */
  collect(): MetricsSnapshot | undefined;
}

/** A server process's line to its supervisor. What is sent when that has gone is dropped. */
export class SupervisorLink {
  readonly #pending = new Pending();
  readonly #order: Promise<StartOrder>;
  #onOrder: (order: StartOrder) => void = () => {};
  #handlers: LinkHandlers | undefined;

  /** @throws Error in a process that no supervisor has started */
  constructor() {
    if (!process.connected) throw new Error('this file is started by tandem serve, not by hand');
    this.#order = new Promise((resolve) => {
      this.#onOrder = resolve;
    });
    process.on('message', (message) => void this.#receive(message as ToServer));
    process.once('disconnect', () => this.#pending.end());
  }

  /** What this process is to be. */
  order(): Promise<StartOrder> {
    return this.#order;
  }

  /** @param onLost called once, when the supervisor has gone */
  onLost(onLost: () => void): void {
    if (process.connected) process.once('disconnect', onLost);
    else onLost();
  }

  /** From here on the supervisor counts on this process, and `handlers` answer it. */
  ready(report: ReadyReport, handlers: LinkHandlers): void {
    this.#handlers = handlers;
    void this.#send({ type: 'ready', report });
  }

  /** Resolves when it is sent: the process may end then. */
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

  /** What all processes count, this one among them; undefined where the supervisor has gone. */
  async collectAll(): Promise<readonly MetricsSnapshot[] | undefined> {
    const snapshots = await this.#pending.ask((id) => void this.#send({ type: 'collect-all', id }));
    return snapshots as readonly MetricsSnapshot[] | undefined;
  }

  async #receive(message: ToServer): Promise<void> {
    if (message.type === 'start') this.#onOrder(message.order);
    else if (message.type === 'collection') this.#pending.reply(message.id, message.snapshots);
    else if (this.#handlers !== undefined) {
      const { id } = message;
      const value =
        message.type === 'reload' ? await this.#handlers.reload() : this.#handlers.collect();
      await this.#send({ type: 'reply', id, value });
    }
  }

  #send(message: FromServer): Promise<void> {
    return new Promise((resolve) => {
      // The callback takes the error of a channel that has just closed.
      if (process.connected) process.send?.(message, undefined, undefined, () => resolve());
      else {
        this.#pending.end();
        resolve();
      }
    });
  }
}
