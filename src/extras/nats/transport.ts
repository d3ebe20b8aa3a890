import { stackOf } from '../../core/base/message-of.ts';
import type { Log } from '../../core/observe/log.ts';
import type { RemoteOptions, RemoteServices } from '../../core/service/cluster.ts';
import { connectNats } from './connection/connect.ts';
import type { NatsEvents } from './connection/connection.ts';
import { Gateway } from './gateway/gateway.ts';
import { lessLoadedOfTwo } from './gateway/remote-pool.ts';
import { type MemberLimits, memberLimits } from './liveness.ts';
import { MalformedMessage } from './wire.ts';

/**
 * A procedure whose last member has gone stays known for so long at least, milliseconds, and for as long as a call may wait for a
 * member: that member may be in a restart.
 */
const minNamesKeptMs = 30_000;

/** @throws StartupError; nothing stays connected then */
export async function connectServices(
  { config, log, observer, onProcedures, ...shared }: RemoteOptions,
  signal: AbortSignal,
  limits: MemberLimits = memberLimits,
): Promise<RemoteServices> {
  const clientName = `tandem ${config.natsRole} ${config.service.join(' ')}`;
  const connection = await connectNats({ ...config, name: clientName }, natsLog(log), signal);
  const options = {
    ...config,
    ...shared,
    connection,
    id: connection.nuid(),
    choose: lessLoadedOfTwo,
    memberLimits: limits,
    namesKeptMs: Math.max(config.maxQueueMs, minNamesKeptMs),
  };
  const names = config.natsRole === 'member' ? [] : config.service;
  const services = names.map((name) => new Gateway({ ...options, name }, observer, log));
  for (const service of services) service.onProcedures = onProcedures;
  const close = async (graceMs: number): Promise<void> => {
    await Promise.all(services.map((service) => service.close(graceMs)));
    await connection.close();
  };
  try {
    if (services.length > 0) await connection.confirm();
  } catch (error) {
    // Nobody will ever close this connection, and its client would connect again for as long as the process lives.
    await close(0);
    throw error;
  }
  return { connection, services, close };
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
