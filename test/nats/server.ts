import { describeWith } from '../describe-with.ts';
import { findNatsServer, needs } from './nats-server.ts';

export { NatsServer } from './nats-server.ts';

/** A suite against a real server. */
export function describeNats(name: string, body: () => void): void {
  describeWith(findNatsServer(), needs, name, body);
}
