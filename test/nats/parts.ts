import type { CallObserver } from '../../src/core/dispatch/call.ts';
import { DeadlineSweep } from '../../src/core/dispatch/deadline.ts';
import { ReplyMemory } from '../../src/core/dispatch/reply-memory.ts';
import {
  describedProcedure,
  describeProcedure,
} from '../../src/core/procedures/document/introspect.ts';
import type { AnyRouter } from '../../src/core/procedures/router.ts';
import { tableOf } from '../../src/core/procedures/router.ts';
import type { Procedure } from '../../src/core/procedures/types.ts';
import type { Dispatcher } from '../../src/core/service/dispatcher.ts';
import type { NatsConnection } from '../../src/extras/nats/connection/connection.ts';
import type { RemotePoolOptions } from '../../src/extras/nats/gateway/remote-pool.ts';
import { memberLimits } from '../../src/extras/nats/liveness.ts';
import { Member } from '../../src/extras/nats/member/member.ts';
import {
  defaultRetention,
  type MemberOptions,
} from '../../src/extras/nats/member/remote-gateway.ts';
import { contractOf } from '../../src/extras/nats/subjects.ts';
import { openStreams } from '../dispatch/open-streams.ts';

/** What gateways and members of tests are made of: nothing is given up before a test says so. */
export const longMs = 600_000;

/** The streams of a gateway. The sweep is to be closed. */
export function streamsOf(observer?: CallObserver) {
  const deadlines = new DeadlineSweep();
  return { deadlines, streams: openStreams(longMs, deadlines, observer) };
}

/** The first member that may take a call gets it: the same in every run. */
export const poolOptions: Omit<RemotePoolOptions, 'streams'> = {
  memberLimits: { ...memberLimits, silentMs: longMs, hungMs: longMs, goneMs: longMs },
  maxReplyBytes: 2 ** 24,
  maxQueue: 100_000,
  maxQueueMs: longMs,
  shares: { keyOf: () => '', weightOf: () => 1 },
  choose: ([first]) => first as never,
  replyMemory: new ReplyMemory(2 ** 28),
};

export const gatewayOptions = {
  ...poolOptions,
  namesKeptMs: longMs,
};

/** A member of a service `s`. */
export function memberOf(
  connection: NatsConnection,
  service: Dispatcher,
  id: string,
  document: Uint8Array,
  more: Partial<MemberOptions> = {},
): Member {
  return new Member({
    connection,
    service,
    name: 's',
    id,
    version: '1.0.0',
    started: 0,
    heartbeatMs: longMs,
    silentMs: longMs,
    maxBodyBytes: 2 ** 24,
    natsTrustAuth: true,
    authenticate: undefined,
    retention: defaultRetention,
    contract: () => ({ id: contractOf(document), document }),
    ...more,
  });
}

/** What describes the procedures of a router, for gateways. */
export function documentOf(router: AnyRouter): Uint8Array {
  return Buffer.from(JSON.stringify([...tableOf(router).values()].map(describeProcedure)));
}

/** The procedures of a router as a gateway knows them. */
export function describedBy(router: AnyRouter): Map<string, Procedure> {
  const known = [...tableOf(router).values()].map((each) =>
    describedProcedure(describeProcedure(each)),
  );
  return new Map(known.map((each) => [each.name, each]));
}
