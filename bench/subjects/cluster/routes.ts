import type { NatsConnection } from '../../../src/extras/nats/connection/connection.ts';
import {
  type ChooseMember,
  lessLoadedOfTwo,
} from '../../../src/extras/nats/gateway/remote-pool.ts';
import { parseHeartbeat } from '../../../src/extras/nats/liveness.ts';

/** Ways to choose a member that `lessLoadedOfTwo` is compared with. */
export const routeNames = ['own', 'round-robin', 'heartbeat'] as const;
export type RouteName = (typeof routeNames)[number];

export function routeOf(
  name: RouteName,
  connection: NatsConnection,
  service: string,
): ChooseMember {
  if (name === 'own') return lessLoadedOfTwo;
  if (name === 'round-robin') {
    let next = 0;
    return (members) => members[next++ % members.length] as (typeof members)[number];
  }
  const loads = new Map<string, number>();
  connection.subscribe(`${service}.hb`, ({ data }) => {
    const { id, load } = parseHeartbeat(data);
    loads.set(id, load);
  });
  // What a gateway chooses from are its members, which have ids; the rule of Tandem itself does not ask for them.
  const loadOf = (member: object): number => loads.get((member as { id: string }).id) ?? 0;
  return (members) => members.reduce((best, one) => (loadOf(one) < loadOf(best) ? one : best));
}
