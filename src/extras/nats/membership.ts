import type { Authenticator } from '../../core/dispatch/authenticate.ts';
import { describeProcedure, fingerprint } from '../../core/procedures/document/introspect.ts';
import { tableOf, versionOf } from '../../core/procedures/router.ts';
import type { ClusterConnection } from '../../core/service/cluster.ts';
import type { Dispatcher } from '../../core/service/dispatcher.ts';
import type { NatsConnection, NatsFacts } from './connection/connection.ts';
import { Member } from './member/member.ts';
import { defaultRetention, type ServedContract } from './member/member-options.ts';
import { Endpoints } from './micro/endpoints.ts';

/** What a process serves to others over NATS: to gateways, and to other clients of NATS. */
export class Membership {
  readonly #dispatcher: Dispatcher;
  readonly #members: Member[];
  readonly #endpoints: Endpoints[] = [];
  #contract: (ServedContract & { readonly version: number }) | undefined;

  readonly #connection: NatsConnection;

  /** Listens for calls. The dispatcher is ready. */
  constructor(
    dispatcher: Dispatcher,
    connection: NatsConnection,
    authenticate: Authenticator<NatsFacts> | undefined,
  ) {
    this.#dispatcher = dispatcher;
    this.#connection = connection;
    const { config } = dispatcher;
    const id = connection.nuid();
    const started = Date.now();
    this.#members = config.service.map((name) => {
      if (config.natsEndpoints) {
        const served = () => {
          const { id: contract } = this.#served();
          return { names: dispatcher.router.list(), contract };
        };
        const identity = { name, id, version: config.serviceVersion };
        this.#endpoints.push(
          new Endpoints({
            ...config,
            ...identity,
            connection,
            service: dispatcher,
            started: new Date(started).toISOString(),
            served,
            authenticate,
          }),
        );
      }
      return new Member({
        connection,
        service: dispatcher,
        name,
        id,
        version: config.serviceVersion,
        started,
        heartbeatMs: config.natsHeartbeatMs,
        silentMs: config.memberSilentMs,
        maxBodyBytes: config.maxBodyBytes,
        trustsAuth: config.natsTrustAuth,
        authenticate,
        retention: defaultRetention,
        contract: () => this.#served(),
      });
    });
  }

  /** See {@link joinMembers}. */
  async confirm(): Promise<void> {
    try {
      await this.#connection.confirm();
    } catch (error) {
      for (const member of this.#members) member.close();
      await Promise.all(this.#endpoints.map((one) => one.drain()));
      throw error;
    }
  }

  /** Sends gateways elsewhere and finishes what is here, for `graceMs` at most. */
  async drain(graceMs: number): Promise<void> {
    const endpoints = this.#endpoints.map((one) => one.drain());
    const members = this.#members.map((member) => member.drain(graceMs));
    await Promise.all([...endpoints, ...members]);
  }

  /** What this process serves itself: made anew when its procedures have changed. */
  #served(): ServedContract {
    const { router } = this.#dispatcher;
    const version = versionOf(router);
    if (this.#contract?.version !== version) {
      const isFirst = this.#contract === undefined;
      const id = fingerprint(router);
      let document: Uint8Array | undefined;
      this.#contract = {
        version,
        id,
        document: () => {
          document ??= Buffer.from(
            JSON.stringify([...tableOf(router).values()].map(describeProcedure)),
          );
          return document;
        },
      };
      if (!isFirst) for (const endpoints of this.#endpoints) endpoints.renew();
    }
    return this.#contract;
  }
}

/**
 * Listens for calls. The dispatcher is ready.
 *
 * @param connection of the transport in transport.ts
 * @throws StartupError if the permissions of the NATS server do not allow it; nothing listens then
 */
export async function joinMembers(
  dispatcher: Dispatcher,
  connection: ClusterConnection,
  authenticate: Authenticator<NatsFacts> | undefined,
): Promise<Membership> {
  // That transport makes no others.
  const membership = new Membership(dispatcher, connection as NatsConnection, authenticate);
  await membership.confirm();
  return membership;
}
