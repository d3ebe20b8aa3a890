import {
  Channel,
  type FromServer,
  type StartFailure,
  type StartOrder,
  type ToServer,
} from './channel.ts';

/**
 * A server process's own view of itself, as its supervisor's is `ServerProcess`. Only this class can use the channel: it removes
 * `process.send`, so that `process.send?.('ready')` of a module does nothing. `onMessage` is to be set when the process serves.
 */
export class SupervisorLink extends Channel<FromServer, ToServer> {
  /** What this process is to serve; undefined: the supervisor has ended without an order. */
  readonly order: Promise<StartOrder | undefined>;

  /** @throws Error in a process that no supervisor has started */
  constructor() {
    if (process.send === undefined) {
      throw new Error('this file is started by tandem serve, not by hand');
    }
    let onOrder: (order: StartOrder | undefined) => void = () => {};
    super(process, {
      onMessage(message) {
        if (message.type === 'start') onOrder(message.order);
        return message.type === 'order' ? { error: 'it does not serve yet' } : undefined;
      },
    });
    this.order = new Promise((resolve) => {
      onOrder = resolve;
    });
    // `process.disconnect` stays: Node itself calls it by that name when the other side has gone.
    delete process.send;
    this.onLost(() => onOrder(undefined));
  }

  /** @param onLost is called once, when the supervisor has gone */
  onLost(onLost: () => void): void {
    if (process.connected) process.once('disconnect', onLost);
    else onLost();
  }

  /** Tells why this process can't start, or ends. */
  failed(failure: StartFailure): Promise<void> {
    return this.tell({ type: 'failed', failure });
  }
}
