import type { GatewayEvents } from '../../src/extras/nats/gateway/gateway.ts';

const nothing = (): void => {};

/** For a gateway whose events nobody looks at. */
export const quietEvents: GatewayEvents = {
  memberJoined: nothing,
  memberRefused: nothing,
  memberSilent: nothing,
  memberBack: nothing,
  memberGone: nothing,
  contractsDiffer: nothing,
};
