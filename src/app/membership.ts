import type { Authenticator } from '../dispatch/authenticate.ts';
import type { NatsFacts } from '../nats/caller.ts';
import type { NatsConnection } from '../nats/connection/connection.ts';
import { Member } from '../nats/member/member.ts';
import { defaultRetention, type ServedContract } from '../nats/member/member-options.ts';
import { Endpoints } from '../nats/micro/endpoints.ts';
import { describeProcedure } from '../router/document/description.ts';
import { fingerprint } from '../router/document/introspect.ts';
import { tableOf, versionOf } from '../router/router.ts';
import type { Dispatcher } from '../service/dispatcher.ts';

/** What a process serves to others over NATS: to gateways, and to other clients of NATS. */
export class Membership {
  readonly #dispatcher: Dispatcher;
  readonly #members: Member[];
  readonly #endpoints: Endpoints[] = [];
  #contract: (ServedContract & { readonly version: number }) | undefined;

  /**
   * Listens for calls. The dispatcher is ready.
   *
   * @throws StartupError where the permissions of the NATS server do not allow it
   */
  static async start(
    dispatcher: Dispatcher,
    connection: NatsConnection,
    authenticate: Authenticator<NatsFacts> | undefined,
  ): Promise<Membership> {
    const membership = new Membership(dispatcher, connection, authenticate);
    try {
      await connection.confirm();
    } catch (error) {
      await membership.#close();
      throw error;
    }
    return membership;
  }

  private constructor(
    dispatcher: Dispatcher,
    connection: NatsConnection,
    authenticate: Authenticator<NatsFacts> | undefined,
  ) {
    this.#dispatcher = dispatcher;
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

  /** Sends gateways elsewhere and finishes what is here, for `graceMs` at most. */
  async drain(graceMs: number): Promise<void> {
    const endpoints = Promise.all(this.#endpoints.map((one) => one.drain()));
    const members = this.#members.map((member) => member.drain(graceMs));
    await Promise.all(members);
    await endpoints;
  }

  /** Listens no longer: nothing was served. */
  async #close(): Promise<void> {
    for (const member of this.#members) member.close();
    await Promise.all(this.#endpoints.map((one) => one.drain()));
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
