import type { Config } from '../config/config.ts';
import type { Executor, ExecutorFigures } from '../dispatch/executor.ts';
import type { CallObserver } from '../dispatch/observer.ts';
import type { CallerShares } from '../dispatch/queue/queued-callers.ts';
import type { OpenStreams } from '../dispatch/streams/open-streams.ts';
import { connectNats } from '../nats/connection/connect.ts';
import type { NatsConnection } from '../nats/connection/connection.ts';
import { lessLoadedOfTwo } from '../nats/gateway/choose.ts';
import { Gateway, type GatewayState } from '../nats/gateway/gateway.ts';
import type { Log } from '../observe/log.ts';
import type { MemberFigures } from '../observe/snapshot.ts';
import { Router, replaceTable, sourcesOf, tableOf, versionOf } from '../router/router.ts';
import type { AnyRouter } from '../router/router-state.ts';
import type { Procedure } from '../router/types.ts';
import { gatewayLog, natsLog } from './nats-log.ts';

export interface ClusterOptions {
  readonly config: Config;
  readonly log: Log;
  readonly observer: CallObserver;
  readonly shares: CallerShares;
  /** The streams that calls to members open. */
  readonly streams: OpenStreams;
}

/** What /metrics and `stats()` show of the other machines. */
export interface RemoteStats {
  /** Members that take calls. */
  readonly members: number;
  readonly inFlight: number;
  readonly queued: number;
  /** Calls that were sent again, since they had not come to a member, or not been run there. */
  readonly requeued: number;
  /** Calls of which nobody knows whether they ran. */
  readonly lost: number;
}

/**
 * A procedure whose last member has gone stays known for so long at least, milliseconds, and for as long as a call may wait for a
 * member: that member may be in a restart.
 */
const leastNamesKeptMs = 30_000;

interface Merged {
  readonly local: AnyRouter;
  readonly version: number;
  readonly router: AnyRouter;
}

/**
 * This process among those that share a NATS: its connection, and where it is a gateway the procedures that members serve, for as
 * long as the process lives. Reloads of its own modules change nothing of it.
 */
export class Cluster {
  readonly isGateway: boolean;
  readonly #options: ClusterOptions;
  readonly #executors = new WeakMap<Procedure, Executor>();
  #connecting: Promise<NatsConnection> | undefined;
  readonly #leaving = new AbortController();
  #connection: NatsConnection | undefined;
  #gateways: Gateway[] = [];
  #procedures: ReadonlyMap<string, Procedure> = new Map();
  #merged: Merged | undefined;
  /** Names that members serve and this process serves itself, of which the log has told. */
  readonly #shadowed = new Set<string>();

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.isGateway = options.config.natsRole !== 'member';
  }

  /** undefined before `connect` has resolved. */
  get connection(): NatsConnection | undefined {
    return this.#connection;
  }

  /**
   * Connects, and where this is a gateway asks who is there; it does not wait for members.
   *
   * @throws StartupError
   */
  connect(): Promise<NatsConnection> {
    this.#connecting ??= this.#connect();
    return this.#connecting;
  }

  /** What keeps calls from being served; undefined: nothing. */
  get state(): Exclude<GatewayState, 'ready'> | undefined {
    if (this.#connection?.connected !== true) return 'disconnected';
    const states = this.#gateways.map(({ state }) => state);
    if (states.length === 0 || states.includes('ready')) return undefined;
    return states.includes('starting') ? 'starting' : 'alone';
  }

  /** Whether procedures may exist of which nobody has told yet. */
  get isIncomplete(): boolean {
    return this.#gateways.some(({ hasServed }) => !hasServed);
  }

  /** The executors over the members, one for each service. */
  get executors(): readonly ExecutorFigures[] {
    return this.#gateways.map(({ executor }) => executor);
  }

  get reconnects(): number {
    return this.#connection?.reconnects ?? 0;
  }

  stats(): RemoteStats {
    const sum = (of: (gateway: Gateway) => number): number =>
      this.#gateways.reduce((total, gateway) => total + of(gateway), 0);
    return {
      members: sum(({ members }) => members),
      inFlight: sum(({ executor }) => executor.inFlight),
      queued: sum(({ executor }) => executor.queued),
      requeued: sum(({ executor }) => executor.counters.requeued),
      lost: sum(({ executor }) => executor.counters.lost),
    };
  }

  /** Each member of each service, those that are silent or go among them. */
  members(): readonly MemberFigures[] {
    return this.#gateways.flatMap((gateway, at) =>
      gateway.figures().map((one) => ({ service: this.#options.config.service[at] ?? '', ...one })),
    );
  }

  /** Where calls of a procedure that members serve go; undefined: this process serves it. */
  executorOf(procedure: Procedure): Executor | undefined {
    return this.#executors.get(procedure);
  }

  /** The procedures of this process, and those that only members serve: the same router until either changes. */
  mergedWith(local: AnyRouter): AnyRouter {
    const version = versionOf(local);
    if (this.#merged?.local !== local || this.#merged.version !== version) {
      const own = tableOf(local);
      const others = [...this.#procedures].filter(([name]) => !this.#isShadowed(name, own));
      const router = new Router();
      replaceTable(router, new Map([...own, ...others]), sourcesOf(local));
      this.#merged = { local, version, router };
    }
    return this.#merged.router;
  }

  /** The streams of members that are open. */
  get streams(): OpenStreams {
    return this.#options.streams;
  }

  /** Finishes the calls that are with members for `graceMs` at most, and closes the connection. */
  async close(graceMs: number): Promise<void> {
    // A server that has not answered yet is not waited for.
    this.#leaving.abort();
    const connection = await this.#connecting?.catch(() => undefined);
    await Promise.all(this.#gateways.map((gateway) => gateway.close(graceMs)));
    await connection?.close();
  }

  async #connect(): Promise<NatsConnection> {
    const { config, log } = this.#options;
    const { nats, natsCreds, natsNkey, natsCa, natsCert, natsKey, natsRole, service } = config;
    const connection = await connectNats(
      {
        servers: nats,
        creds: natsCreds,
        nkey: natsNkey,
        ca: natsCa,
        cert: natsCert,
        key: natsKey,
        startTimeoutMs: config.startTimeoutMs,
        name: `tandem ${natsRole} ${service.join(' ')}`,
      },
      natsLog(log),
      this.#leaving.signal,
    );
    this.#connection = connection;
    if (this.isGateway) await this.#openGateways(connection);
    return connection;
  }

  async #openGateways(connection: NatsConnection): Promise<void> {
    const { config, log, observer, shares, streams } = this.#options;
    const events = gatewayLog(log);
    const id = connection.nuid();
    const choose = lessLoadedOfTwo;
    const namesKeptMs = Math.max(config.maxQueueMs, leastNamesKeptMs);
    const more = { id, shares, choose, streams, namesKeptMs };
    this.#gateways = config.service.map(
      (name) => new Gateway({ ...config, connection, name, ...more }, observer, events),
    );
    for (const gateway of this.#gateways) gateway.onProcedures = () => this.#merge();
    try {
      await connection.confirm();
    } catch (error) {
      // Nobody will ever close this connection, and its client would connect again for as long as the process lives.
      await Promise.all(this.#gateways.map((gateway) => gateway.close(0)));
      await connection.close();
      throw error;
    }
  }

  /** Of a name that several services have, the first service has it. */
  #merge(): void {
    const procedures = new Map<string, Procedure>();
    for (const { procedures: served, executor } of this.#gateways) {
      for (const [name, procedure] of served) {
        if (procedures.has(name)) continue;
        procedures.set(name, procedure);
        this.#executors.set(procedure, executor);
      }
    }
    this.#procedures = procedures;
    this.#merged = undefined;
  }

  #isShadowed(name: string, own: ReadonlyMap<string, Procedure>): boolean {
    if (!own.has(name)) return false;
    if (!this.#shadowed.has(name)) {
      this.#shadowed.add(name);
      this.#options.log.warn(
        { event: 'procedure-shadowed', method: name },
        'members serve a procedure that this gateway serves itself: its own is called',
      );
    }
    return true;
  }
}
