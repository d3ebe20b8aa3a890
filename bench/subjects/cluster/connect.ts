import { connectNats } from '../../../src/extras/nats/connection/connect.ts';
import type { NatsConnection } from '../../../src/extras/nats/connection/connection.ts';

const nothing = (): void => {};

/** A connection whose losses nobody is told of: in a benchmark there are none. */
export function connectTo(server: string): Promise<NatsConnection> {
  return connectNats(
    {
      nats: [server],
      natsCreds: '',
      natsNkey: '',
      natsCa: '',
      natsCert: '',
      natsKey: '',
      startTimeoutMs: 30_000,
      name: 'bench',
    },
    {
      disconnected: nothing,
      reconnected: nothing,
      denied: nothing,
      callbackFailed: (_, error) => {
        throw error;
      },
    },
  );
}
