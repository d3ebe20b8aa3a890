import { clockMs } from '../../base/clock.ts';
import type { CallObserver } from '../../dispatch/observer.ts';
import type { Procedure } from '../../router/types.ts';
import type { NatsConnection, NatsMessage, NatsSubscription } from '../connection/connection.ts';
import { SilenceCheck } from '../connection/silence-check.ts';
import type { GatewayEvents } from '../events.ts';
import { type Heartbeat, parseHeartbeat } from '../heartbeat.ts';
import type { SessionStart } from '../session/gateway-session.ts';
import { isNuid, Subjects } from '../subjects.ts';
import { Catalog, type KnownContract } from './catalog.ts';
import { Contracts } from './contracts.ts';
import type { MemberStats } from './member-stats.ts';
import { RemoteMember } from './remote-member.ts';
import { RemotePool, type RemotePoolOptions } from './remote-pool.ts';

export interface GatewayOptions extends RemotePoolOptions {
  readonly connection: NatsConnection;
  /** First token of the subjects. */
  readonly name: string;
  /** A name that no other process ever has. */
  readonly id: string;
  /** See the table of options. */
  readonly memberSilentMs: number;
  readonly memberHungMs: number;
  readonly memberGoneMs: number;
  /** How long the name of a procedure stays known whose last member has gone while others are there, milliseconds. */
  readonly namesKeptMs: number;
}

/** `starting`: no member was heard of yet; `alone`: there is none; `disconnected`: NATS is away. */
export type GatewayState = 'starting' | 'ready' | 'alone' | 'disconnected';

/** How often members are looked at, milliseconds. A look that comes much later says that this thread was held up. */
const lookMs = 100;
const lateMs = 1000;

/** A member of which nothing was heard for so long is forgotten, milliseconds. */
const forgottenMs = 600_000;

/** Members that were given up and may come back: their sessions go on where they were. */
const mostStarts = 1000;

/** The gateway's side: who serves what, who lives, and the executor that sends calls there. */
export class Gateway {
  readonly executor: RemotePool;
  readonly #options: GatewayOptions;
  readonly #events: GatewayEvents;
  readonly #subjects: Subjects;
  readonly #members = new Map<string, RemoteMember>();
  readonly #contracts: Contracts;
  /** Where sessions start with members that were given up and may come back. */
  readonly #starts = new Map<string, SessionStart>();
  readonly #subscriptions: NatsSubscription[];
  readonly #stopListening: () => void;
  readonly #looking: NodeJS.Timeout;
  #lookedAt = clockMs();
  #listensSince = clockMs();
  readonly #silence: SilenceCheck;
  readonly #catalog: Catalog;
  #served = '';
  /** Called when `procedures` is another map. */
  onProcedures: () => void = () => {};

  constructor(options: GatewayOptions, observer: CallObserver | undefined, events: GatewayEvents) {
    const { connection, name, id } = options;
    this.#options = options;
    this.#events = events;
    this.#subjects = new Subjects(name);
    this.#silence = new SilenceCheck(connection, () => this.#judgeAll());
    this.#contracts = new Contracts(connection, this.#subjects, () => this.#renew());
    this.#catalog = new Catalog(options.namesKeptMs);
    this.executor = new RemotePool(options, () => this.#members.values(), observer);
    this.#subscriptions = [
      connection.subscribe(this.#subjects.allToGateway(id), (message) => this.#onMessage(message)),
      connection.subscribe(this.#subjects.heartbeat, ({ data }) =>
        this.#onHeartbeat(parseHeartbeat(data)),
      ),
    ];
    this.#stopListening = connection.onState((state) => {
      if (state === 'disconnected')
        for (const { channel } of this.#members.values()) channel.interrupt();
      else if (state === 'reconnected') this.#onReturn();
    });
    this.#looking = setInterval(() => this.#look(), lookMs);
    connection.publish(this.#subjects.hello, '');
  }

  /** What members serve, and for a while what they have served; the same map until that changes. */
  get procedures(): ReadonlyMap<string, Procedure> {
    return this.#catalog.procedures;
  }

  get state(): GatewayState {
    if (!this.#options.connection.connected) return 'disconnected';
    if (this.#served === '') return 'starting';
    return this.members > 0 ? 'ready' : 'alone';
  }

  /** Whether any member has told what it serves. */
  get hasServed(): boolean {
    return this.#served !== '';
  }

  /** Members that are heard of, take calls, and have told what they serve. */
  get members(): number {
    let count = 0;
    for (const { condition, heartbeat, procedures } of this.#members.values()) {
      if (condition === 'up' && heartbeat.state === 'ready' && procedures !== undefined) count++;
    }
    return count;
  }

  /** How each member is, and what is with it. */
  figures(): readonly MemberStats[] {
    return Array.from(this.#members.values(), (member) => member.stats());
  }

  /** Finishes the calls for `graceMs` at most, and listens no longer. */
  async close(graceMs: number): Promise<void> {
    await this.executor.close(graceMs);
    clearInterval(this.#looking);
    this.#stopListening();
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#contracts.close();
    for (const { channel } of this.#members.values()) channel.leave();
  }

  #onMessage(message: NatsMessage): void {
    // S.g.<gateway>.<member>, and behind it the number of a frame.
    const id = message.subject.split('.')[3] ?? '';
    const member = this.#members.get(id);
    if (member === undefined) return;
    if (message.status === 0) this.#noteHeard(member);
    member.channel.onMessage(message);
  }

  #onHeartbeat(heartbeat: Heartbeat): void {
    const { id, contract } = heartbeat;
    if (!isNuid(id) || !isNuid(contract)) return;
    const known = this.#members.get(id);
    if (known === undefined) {
      if (heartbeat.state === 'draining') return;
      this.#add(heartbeat);
    } else {
      const before = known.heartbeat;
      known.heartbeat = heartbeat;
      // What was sent while it was away has not come.
      if (before.returns !== heartbeat.returns) known.channel.interrupt();
      this.#noteHeard(known);
      known.channel.sync(lookMs);
      const isSame = before.contract === contract && before.state === heartbeat.state;
      if (isSame) return;
    }
    this.#renew();
  }

  #add(heartbeat: Heartbeat): void {
    const { connection, id } = this.#options;
    const start = this.#starts.get(heartbeat.id);
    this.#starts.delete(heartbeat.id);
    const member = new RemoteMember(
      connection,
      this.#subjects,
      id,
      heartbeat,
      start,
      this.executor,
    );
    this.#members.set(heartbeat.id, member);
    this.#events.memberJoined(heartbeat.id, heartbeat.version);
    member.channel.sync();
  }

  #noteHeard(member: RemoteMember): void {
    member.heardAt = clockMs();
    if (member.condition === 'up') return;
    member.condition = 'up';
    this.#events.memberBack(member.id);
    this.#renew();
    this.executor.onCapacity();
  }

  #onReturn(): void {
    this.#listensSince = clockMs();
    this.#options.connection.publish(this.#subjects.hello, '');
    for (const { channel } of this.#members.values()) channel.sync(0);
  }

  #look(): void {
    const now = clockMs();
    const wasLate = now - this.#lookedAt > lateMs;
    this.#lookedAt = now;
    if (wasLate) this.#listensSince = now;
    if (!this.#options.connection.connected) return;
    this.#contracts.look(now);
    for (const member of this.#members.values()) this.#lookAt(member, now);
    if (this.#catalog.expire(now, this.#listensSince)) this.onProcedures();
  }

  #lookAt(member: RemoteMember, now: number): void {
    const { memberSilentMs, memberHungMs, memberGoneMs } = this.#options;
    member.channel.look(now);
    const { nobodySince } = member.channel;
    const silentMs = this.#silenceOf(member, now);
    if (nobodySince !== undefined && now - nobodySince > memberGoneMs) {
      this.#remove(member);
    } else if (silentMs > forgottenMs) {
      this.#remove(member);
    } else if (member.condition === 'up' && silentMs > memberSilentMs) {
      this.#silence.ask();
    } else if (member.condition === 'silent' && silentMs > memberHungMs) {
      this.#silence.ask();
    }
  }

  #silenceOf({ heardAt }: RemoteMember, now: number): number {
    return now - Math.max(heardAt, this.#listensSince);
  }

  /** All that members had sent has come: those that are silent now are. */
  #judgeAll(): void {
    const now = clockMs();
    let isChanged = false;
    for (const member of this.#members.values()) {
      if (this.#judge(member, this.#silenceOf(member, now))) isChanged = true;
    }
    if (isChanged) this.#renew();
  }

  /** @returns whether the member counted as heard until now, and does no longer */
  #judge(member: RemoteMember, silentMs: number): boolean {
    const { memberSilentMs, memberHungMs } = this.#options;
    const wasUp = member.condition === 'up';
    if (wasUp && silentMs > memberSilentMs) {
      member.condition = 'silent';
      this.#events.memberSilent(member.id);
      // Whether anybody is there is told by the answers to its syncs.
      member.channel.interrupt();
    }
    if (member.condition === 'silent' && silentMs > memberHungMs) {
      member.condition = 'hung';
      member.lose('member');
    }
    return wasUp && member.condition !== 'up';
  }

  #remove(member: RemoteMember): void {
    this.#members.delete(member.id);
    const oldest = this.#starts.keys().next();
    if (this.#starts.size >= mostStarts && oldest.done !== true) this.#starts.delete(oldest.value);
    this.#starts.set(member.id, member.channel.end);
    member.lose('member');
    this.#events.memberGone(member.id, member.heartbeat.state);
    this.#renew();
  }

  /** Finds out anew who serves what. */
  #renew(): void {
    const live: KnownContract[] = [];
    const silent: KnownContract[] = [];
    for (const member of this.#members.values()) {
      const { contract: id, version, started, state } = member.heartbeat;
      const procedures = this.#contracts.proceduresOf(id);
      member.procedures = procedures;
      if (procedures === undefined || state !== 'ready') continue;
      (member.condition === 'up' ? live : silent).push({ id, version, started, procedures });
    }
    this.#contracts.keep(
      new Set(Array.from(this.#members.values(), ({ heartbeat }) => heartbeat.contract)),
    );
    // Without any member the procedures stay: their calls wait for one.
    if (live.length === 0) {
      this.#catalog.hold();
      if (this.hasServed) this.#served = 'nobody';
      return;
    }
    const textOf = (contracts: readonly KnownContract[]): string =>
      contracts.map(({ id, version, started }) => `${id} ${version} ${started}`).join();
    const served = `${textOf(live)};${textOf(silent)}`;
    if (served === this.#served) return;
    this.#served = served;
    const ids = new Set(live.map(({ id }) => id));
    if (ids.size > 1) this.#events.contractsDiffer([...ids]);
    if (this.#catalog.update(live, silent, clockMs())) this.onProcedures();
    this.executor.onCapacity();
  }
}
