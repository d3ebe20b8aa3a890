import { stackOf } from '../base/message-of.ts';
import type { NatsEvents } from '../nats/events.ts';
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
