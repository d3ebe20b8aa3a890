import type { Config } from '../config/config.ts';
import type { CallObserver } from '../dispatch/call.ts';
import type { Executor, ExecutorFigures } from '../dispatch/executor.ts';
import type { CallerShares } from '../dispatch/queue/fair-queue.ts';
import type { ReplyMemory } from '../dispatch/reply-memory.ts';
import type { OpenStreams } from '../dispatch/streams/open-streams.ts';
import type { Log } from '../observe/log.ts';
import type { MemberFigures } from '../observe/snapshot.ts';
import {
  type AnyRouter,
  Router,
  replaceTable,
  sourcesOf,
  tableOf,
  versionOf,
} from '../procedures/router.ts';
import type { Procedure } from '../procedures/types.ts';

/** A connection to the other machines, for as long as the process lives. */
export interface ClusterConnection {
  /** False from the loss of the connection until it is back. */
  readonly connected: boolean;
  readonly reconnects: number;
  /** @throws StartupError if the other side denied what was asked of it before */
  confirm(): Promise<void>;
  /** Idempotent; never rejects. */
  close(): Promise<void>;
}

/** `starting`: no member was heard of yet; `alone`: there is none; `disconnected`: the connection is lost. */
export type RemoteState = 'starting' | 'ready' | 'alone' | 'disconnected';

/** One service that other machines serve. */
export interface RemoteService {
  readonly state: RemoteState;
  /** Whether any member has told what it serves. */
  readonly hasServed: boolean;
  /** Those that take calls. */
  readonly members: number;
  /** What members serve; the same map until that changes. */
  readonly procedures: ReadonlyMap<string, Procedure>;
  readonly executor: Executor &
    ExecutorFigures & {
      readonly queued: number;
      readonly counters: { readonly requeued: number; readonly lost: number };
    };
  /** Called when `procedures` is another map. */
  onProcedures: () => void;
  figures(): readonly Omit<MemberFigures, 'service'>[];
  /** Finishes the calls for `graceMs` at most. */
  close(graceMs: number): Promise<void>;
}

export interface RemoteOptions extends ClusterOptions {
  /** How long the name of a procedure stays known whose last member has gone, milliseconds. */
  readonly namesKeptMs: number;
}

/** What reaches the other machines. It is loaded by a service that has such machines. */
export interface ClusterTransport {
  /** @throws StartupError */
  connect(config: Config, log: Log, signal: AbortSignal): Promise<ClusterConnection>;
  /** Opens the services of the configuration, in its order. @param connection that `connect` gave */
  openServices(connection: ClusterConnection, options: RemoteOptions): readonly RemoteService[];
}

let load: (() => Promise<ClusterTransport>) | undefined;

/** Says how the transport is loaded: the core itself imports none. */
export function provideClusterTransport(loads: () => Promise<ClusterTransport>): void {
  load = loads;
}

export interface ClusterOptions {
  readonly config: Config;
  readonly log: Log;
  readonly observer: CallObserver;
  readonly shares: CallerShares;
  readonly replyMemory: ReplyMemory;
  /** The streams that calls to members open. */
  readonly streams: OpenStreams;
}

/** What /metrics and `stats()` show of the other machines. */
export interface RemoteStats {
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
 * This process among those that share a NATS: its connection, and if it is a gateway the procedures that members serve, for as
 * long as the process lives. Reloads of its own modules change nothing of it.
 */
export class Cluster {
  readonly isGateway: boolean;
  readonly #options: ClusterOptions;
  readonly #executors = new WeakMap<Procedure, Executor>();
  #connecting: Promise<ClusterConnection> | undefined;
  readonly #leaving = new AbortController();
  #connection: ClusterConnection | undefined;
  #gateways: readonly RemoteService[] = [];
  #procedures: ReadonlyMap<string, Procedure> = new Map();
  #merged: Merged | undefined;
  /** Names that members serve and this process serves itself, of which the log has told. */
  readonly #shadowed = new Set<string>();

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.isGateway = options.config.natsRole !== 'member';
  }

  /** undefined before `connect` has resolved. */
  get connection(): ClusterConnection | undefined {
    return this.#connection;
  }

  /**
   * Connects, and if this is a gateway asks who is there; it does not wait for members.
   *
   * @throws StartupError
   */
  connect(): Promise<ClusterConnection> {
    this.#connecting ??= this.#connect();
    return this.#connecting;
  }

  /** What keeps calls from being served; undefined: nothing. */
  get state(): Exclude<RemoteState, 'ready'> | undefined {
    if (this.#connection?.connected !== true) return 'disconnected';
    const states = this.#gateways.map(({ state }) => state);
    if (states.length === 0 || states.includes('ready')) return undefined;
    return states.includes('starting') ? 'starting' : 'alone';
  }

  /** Whether procedures may exist of which nobody has told yet. */
  get isIncomplete(): boolean {
    return this.#gateways.some(({ hasServed }) => !hasServed);
  }

  get executors(): readonly ExecutorFigures[] {
    return this.#gateways.map(({ executor }) => executor);
  }

  get reconnects(): number {
    return this.#connection?.reconnects ?? 0;
  }

  stats(): RemoteStats {
    const sum = (of: (gateway: RemoteService) => number): number =>
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

  async #connect(): Promise<ClusterConnection> {
    const { config, log } = this.#options;
    if (load === undefined) throw new Error('no transport was provided');
    const transport = await load();
    const connection = await transport.connect(config, log, this.#leaving.signal);
    this.#connection = connection;
    if (!this.isGateway) return connection;
    const namesKeptMs = Math.max(config.maxQueueMs, leastNamesKeptMs);
    this.#gateways = transport.openServices(connection, { ...this.#options, namesKeptMs });
    for (const gateway of this.#gateways) gateway.onProcedures = () => this.#merge();
    try {
      await connection.confirm();
    } catch (error) {
      // Nobody will ever close this connection, and its client would connect again for as long as the process lives.
      await Promise.all(this.#gateways.map((gateway) => gateway.close(0)));
      await connection.close();
      throw error;
    }
    return connection;
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
