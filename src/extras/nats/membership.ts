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
  readonly #endpoints: Endpoints[];
  #contract: (ServedContract & { readonly version: number }) | undefined;

  private constructor(
    dispatcher: Dispatcher,
    connection: NatsConnection,
    authenticate: Authenticator<NatsFacts> | undefined,
  ) {
    this.#dispatcher = dispatcher;
    const { config } = dispatcher;
    const started = Date.now();
    const common = {
      connection,
      service: dispatcher,
      id: connection.nuid(),
      version: config.serviceVersion,
      authenticate,
    };
    const services = config.natsEndpoints ? config.service : [];
    this.#endpoints = services.map(
      (name) =>
        new Endpoints({
          ...config,
          ...common,
          name,
          started: new Date(started).toISOString(),
          served: () => {
            const { id: contract } = this.#served();
            return { names: dispatcher.router.list(), contract };
          },
        }),
    );
    this.#members = config.service.map(
      (name) =>
        new Member({
          ...config,
          ...common,
          name,
          started,
          retention: defaultRetention,
          contract: () => this.#served(),
        }),
    );
  }

  /**
   * Listens for calls. The dispatcher is ready.
   *
   * @param connection of the transport in transport.ts
   * @throws StartupError if the permissions of the NATS server do not allow it; nothing listens then
   */
  static async join(
    dispatcher: Dispatcher,
    connection: ClusterConnection,
    authenticate: Authenticator<NatsFacts> | undefined,
  ): Promise<Membership> {
    // That transport makes no others.
    const membership = new Membership(dispatcher, connection as NatsConnection, authenticate);
    try {
      await connection.confirm();
    } catch (error) {
      for (const member of membership.#members) member.close();
      await Promise.all(membership.#endpoints.map((one) => one.drain()));
      throw error;
    }
    return membership;
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
      let document: Uint8Array | undefined;
      this.#contract = {
        version,
        id: fingerprint(router),
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
