import { stackOf } from '../base/message-of.ts';
import type { GatewayEvents, NatsEvents } from '../nats/events.ts';
import type { Log } from '../observe/log.ts';

/** Logs what happens to the connection to NATS. */
export function natsLog(log: Log): NatsEvents {
  return {
    disconnected: () =>
      log.warn(
        { event: 'nats-disconnected' },
        'the connection to NATS is lost; trying to come back',
      ),
    reconnected: (afterMs) =>
      log.info(
        { event: 'nats-reconnected', afterMs: Math.round(afterMs) },
        'the connection to NATS is back',
      ),
    denied: (operation, subject) =>
      log.error(
        { event: 'nats-denied', operation, subject },
        `the NATS server does not let this process ${operation === 'publish' ? 'publish' : 'subscribe'} to ${subject}: see the permissions of its user`,
      ),
    callbackFailed: (subject, error) =>
      log.error(
        { event: 'nats-fault', subject, detail: stackOf(error) },
        'an unexpected error at a message of NATS',
      ),
  };
}

/** Logs what a gateway learns about its members. */
export function gatewayLog(log: Log): GatewayEvents {
  return {
    memberJoined: (member, version) =>
      log.info({ event: 'member-joined', member, version }, 'a member has joined'),
    memberSilent: (member) =>
      log.warn({ event: 'member-silent', member }, 'a member is silent: it gets no new calls'),
    memberBack: (member) => log.info({ event: 'member-back', member }, 'a member is back'),
    memberGone: (member, state) =>
      state === 'draining'
        ? log.info({ event: 'member-left', member }, 'a member has left')
        : log.warn(
            { event: 'member-gone', member },
            'a member is gone: of the calls that it had nobody knows whether they ran',
          ),
    contractsDiffer: (contracts) =>
      log.warn(
        { event: 'contracts-differ', contracts },
        'members serve different contracts: a call goes to a member that has its procedure',
      ),
  };
}
