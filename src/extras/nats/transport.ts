import { stackOf } from '../../core/base/message-of.ts';
import type { Config } from '../../core/config/config.ts';
import type { Log } from '../../core/observe/log.ts';
import type {
  ClusterConnection,
  RemoteOptions,
  RemoteService,
} from '../../core/service/cluster.ts';
import { connectNats } from './connection/connect.ts';
import type { NatsConnection, NatsEvents } from './connection/connection.ts';
import { Gateway } from './gateway/gateway.ts';
import { lessLoadedOfTwo } from './gateway/remote-pool.ts';
import { type MemberLimits, memberLimits } from './liveness.ts';
import { MalformedMessage } from './wire.ts';

/** The {@link ClusterTransport} over NATS. */

/** @throws StartupError */
export function connect(config: Config, log: Log, signal: AbortSignal): Promise<NatsConnection> {
  const name = `tandem ${config.natsRole} ${config.service.join(' ')}`;
  return connectNats({ ...config, name }, natsLog(log), signal);
}

/** @param opened by {@link connect} */
export function openServices(
  opened: ClusterConnection,
  { config, log, observer, ...shared }: RemoteOptions,
  limits: MemberLimits = memberLimits,
): readonly RemoteService[] {
  // `connect` makes no others.
  const connection = opened as NatsConnection;
  const more = { ...shared, id: connection.nuid(), choose: lessLoadedOfTwo, memberLimits: limits };
  return config.service.map(
    (name) => new Gateway({ ...config, connection, name, ...more }, observer, log),
  );
}

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
      // Anybody may have sent it: that is no fault of this program, and has no stack.
      error instanceof MalformedMessage
        ? log.warn(
            { event: 'nats-malformed', subject, reason: error.message },
            'a message of NATS is ignored: it is none of a gateway or a member',
          )
        : log.error(
            { event: 'nats-fault', subject, detail: () => stackOf(error) },
            'an unexpected error at a message of NATS',
          ),
  };
}
