import { StartupError } from '../base/startup-error.ts';

/** How a process is one of several that share a NATS. */
export interface NatsOptions {
  /** `nats://host:4222`, and others of the same cluster. */
  readonly servers: string | readonly string[];
  /** As in the table of options. */
  readonly role?: 'member' | 'gateway' | 'both' | undefined;
  readonly service?: string | readonly string[] | undefined;
  readonly serviceVersion?: string | undefined;
}

const names = ['servers', 'role', 'service', 'serviceVersion'];

/**
 * The options as the table of options has them.
 *
 * @throws StartupError for an option that is none
 */
export function flattened(nats: string | readonly string[] | NatsOptions | undefined): object {
  if (nats === undefined) return {};
  if (typeof nats !== 'object' || Array.isArray(nats)) return { nats };
  const { servers, role, service, serviceVersion } = nats as NatsOptions;
  const odd = Object.keys(nats).find((name) => !names.includes(name));
  if (odd !== undefined) {
    throw new StartupError(`option nats: it has no member ${odd}. Known: ${names.join(', ')}`);
  }
  return {
    nats: servers,
    ...(role === undefined ? {} : { natsRole: role }),
    ...(service === undefined ? {} : { service }),
    ...(serviceVersion === undefined ? {} : { serviceVersion }),
  };
}
