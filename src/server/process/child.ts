import {
  Channel,
  type ChannelOptions,
  type FromServer,
  type StartFailure,
  type StartOrder,
  type ToServer,
} from './channel.ts';

/**
 * A server process's own view of itself, as its supervisor's is `ServerProcess`. Only this class can use the channel: it removes
 * `process.send`, so that `process.send?.('ready')` of a module does nothing.
 */
export class SupervisorLink {
  readonly #channel: Channel<FromServer, ToServer>;
  /** What this process is to serve; undefined: the supervisor has ended without an order. */
  readonly order: Promise<StartOrder | undefined>;
  /** Acts on what the supervisor says. To be set when the process serves. */
  onMessage: ChannelOptions<Exclude<ToServer, { type: 'start' }>>['onMessage'] = ({ type }) =>
    type === 'order' ? { error: 'it does not serve yet' } : undefined;

  /** @throws Error in a process that no supervisor has started */
  constructor() {
    if (process.send === undefined) {
      throw new Error('this file is started by tandem serve, not by hand');
    }
    let onOrder: (order: StartOrder | undefined) => void = () => {};
    this.order = new Promise((resolve) => {
      onOrder = resolve;
    });
    this.#channel = new Channel(process, {
      onMessage: (message, left) =>
        message.type === 'start' ? onOrder(message.order) : this.onMessage(message, left),
    });
    // `process.disconnect` stays: Node itself calls it by that name when the other side has gone.
    delete process.send;
    this.onLost(() => onOrder(undefined));
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

  /** Resolves when the message is sent, or the supervisor has gone: the process may then end. */
  tell(message: FromServer): Promise<void> {
    return this.#channel.tell(message);
  }

  /** Tells why this process can't start, or ends. */
  failed(failure: StartFailure): Promise<void> {
    return this.tell({ type: 'failed', failure });
  }

  /** undefined: the supervisor has gone. */
  ask(message: FromServer): Promise<unknown> {
    return this.#channel.ask(message);
  }
}
