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
  figures(): readonly Omit<MemberFigures, 'service'>[];
}

/** The services of other machines, and the connection to them. */
export interface RemoteServices {
  readonly connection: {
    /** False from the loss of the connection until it is back. */
    readonly connected: boolean;
    readonly reconnects: number;
  };
  /** In the order of the configuration; none in a member. */
  readonly services: readonly RemoteService[];
  /** Finishes the calls for `graceMs` at most, and closes the connection. Never rejects. */
  close(graceMs: number): Promise<void>;
}

/** What calls to other machines need of the service. */
export interface ClusterOptions {
  readonly config: Config;
  readonly log: Log;
  readonly observer: CallObserver;
  readonly shares: CallerShares;
  readonly replyMemory: ReplyMemory;
  /** The streams that calls to members open. */
  readonly streams: OpenStreams;
}

export interface RemoteOptions extends ClusterOptions {
  /** Called when the `procedures` of a service are another map. */
  readonly onProcedures: () => void;
}

/**
 * Connects to the other machines. It does not wait for members.
 *
 * @throws StartupError; nothing stays connected then
 */
type ConnectServices = (options: RemoteOptions, signal: AbortSignal) => Promise<RemoteServices>;

let load: (() => Promise<ConnectServices>) | undefined;

/** Says how `ConnectServices` is loaded: the core itself imports no transport. */
export function provideCluster(loads: () => Promise<ConnectServices>): void {
  load = loads;
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
  #connecting: Promise<RemoteServices> | undefined;
  readonly #leaving = new AbortController();
  #remote: RemoteServices | undefined;
  #procedures: ReadonlyMap<string, Procedure> = new Map();
  #merged: Merged | undefined;
  /** Names that members serve and this process serves itself, of which the log has told. */
  readonly #shadowed = new Set<string>();

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.isGateway = options.config.natsRole !== 'member';
  }

  /**
   * Connects, and if this is a gateway asks who is there; it does not wait for members.
   *
   * @throws StartupError
   */
  async connect(): Promise<RemoteServices['connection']> {
    this.#connecting ??= this.#connect();
    const { connection } = await this.#connecting;
    return connection;
  }

  /** What keeps calls from being served; undefined: nothing. */
  get state(): Exclude<RemoteState, 'ready'> | undefined {
    if (this.#remote?.connection.connected !== true) return 'disconnected';
    const states = this.#services.map(({ state }) => state);
    if (states.length === 0 || states.includes('ready')) return undefined;
    return states.includes('starting') ? 'starting' : 'alone';
  }

  /** Whether procedures may exist of which nobody has told yet. */
  get isIncomplete(): boolean {
    return this.#services.some(({ hasServed }) => !hasServed);
  }

  get executors(): readonly ExecutorFigures[] {
    return this.#services.map(({ executor }) => executor);
  }

  get reconnects(): number {
    return this.#remote?.connection.reconnects ?? 0;
  }

  /** undefined: this is no gateway. */
  stats(): RemoteStats | undefined {
    if (!this.isGateway) return undefined;
    const sum = (of: (service: RemoteService) => number): number =>
      this.#services.reduce((total, service) => total + of(service), 0);
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
    return this.#services.flatMap((service, at) =>
      service.figures().map((one) => ({ service: this.#options.config.service[at] ?? '', ...one })),
    );
  }

  /** Where calls of a procedure that members serve go; undefined: this process serves it. */
  executorOf(procedure: Procedure): Executor | undefined {
    return this.#executors.get(procedure);
  }

  /** The procedures of this process, and those that only members serve: the same router until either changes. */
  mergedWith(local: AnyRouter): AnyRouter {
    if (this.#procedures.size === 0) return local;
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
    const remote = await this.#connecting?.catch(() => undefined);
    await remote?.close(graceMs);
  }

  get #services(): readonly RemoteService[] {
    return this.#remote?.services ?? [];
  }

  async #connect(): Promise<RemoteServices> {
    if (load === undefined) throw new Error('no transport was provided');
    const connectServices = await load();
    const options = { ...this.#options, onProcedures: () => this.#merge() };
    this.#remote = await connectServices(options, this.#leaving.signal);
    // Members may have told what they serve before the services were here.
    this.#merge();
    return this.#remote;
  }

  /** Of a name that several services have, the first service has it. */
  #merge(): void {
    const procedures = new Map<string, Procedure>();
    for (const { procedures: served, executor } of this.#services) {
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
