import type { GatewayEvents } from '../../src/nats/events.ts';

const nothing = (): void => {};

/** For a gateway whose events nobody looks at. */
export const quietEvents: GatewayEvents = {
  memberJoined: nothing,
  memberSilent: nothing,
  memberBack: nothing,
  memberGone: nothing,
  contractsDiffer: nothing,
};
