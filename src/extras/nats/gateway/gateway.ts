import { clockMs } from '../../../core/base/clock.ts';
import type { CallObserver } from '../../../core/dispatch/call.ts';
import type { Log } from '../../../core/observe/log.ts';
import type { Procedure } from '../../../core/procedures/types.ts';
import type { RemoteService, RemoteState } from '../../../core/service/cluster.ts';
import {
  type NatsConnection,
  type NatsMessage,
  type NatsState,
  type NatsSubscription,
  saysNobody,
} from '../connection/connection.ts';
import { Candidates, type Heartbeat, parseHeartbeat, silenceCheck } from '../liveness.ts';
import { Paced } from '../pace.ts';
import { firstStart } from '../session.ts';
import { isNuid, Subjects } from '../subjects.ts';
import { Catalog, Contracts, type KnownContract } from './contracts.ts';
import type { GatewayLink } from './member-channel.ts';
import { RemoteMember } from './remote-member.ts';
import { RemotePool, type RemotePoolOptions } from './remote-pool.ts';

export interface GatewayOptions extends RemotePoolOptions {
  readonly connection: NatsConnection;
  readonly name: string;
  readonly id: string;
  /** How long the name of a procedure stays known whose last member has gone while others are there, milliseconds. */
  readonly namesKeptMs: number;
}

/** How often members are looked at, milliseconds. A look that comes much later says that this thread was held up. */
const lookMs = 100;
const lateMs = 1000;

/** A member of which nothing was heard for so long is forgotten, milliseconds. */
const forgottenMs = 600_000;

/** Members at once: what is done for each of them, again and again, must not hold up the calls. */
const maxMembers = 1000;

/** The list of procedures is made anew so often at most, milliseconds, whatever members tell. */
const renewMs = 50;

/** The gateway's side: who serves what, who lives, and the executor that sends calls there. */
export class Gateway implements RemoteService {
  readonly executor: RemotePool;
  readonly #options: GatewayOptions;
  readonly #log: Log;
  readonly #link: GatewayLink;
  /** Those that have answered. */
  readonly #members = new Map<string, RemoteMember>();
  readonly #candidates = new Candidates<RemoteMember>();
  readonly #contracts: Contracts;
  readonly #subscriptions: NatsSubscription[];
  readonly #stopListening: () => void;
  readonly #looking: NodeJS.Timeout;
  #lookedAt = clockMs();
  #listensSince = clockMs();
  readonly #askIfSilent: () => void;
  readonly #catalog: Catalog;
  #served = '';
  readonly #renewal = new Paced(renewMs, () => this.#renew());
  /** Called when `procedures` is another map. */
  onProcedures: () => void = () => {};

  constructor(options: GatewayOptions, observer: CallObserver | undefined, log: Log) {
    const { connection, name, id } = options;
    const subjects = new Subjects(name);
    this.#options = options;
    this.#log = log;
    this.#link = { connection, subjects, id, start: firstStart };
    this.#askIfSilent = silenceCheck(connection, () => this.#judgeAll());
    this.#contracts = new Contracts(this.#link, log, () => this.#renewal.ask());
    this.#catalog = new Catalog(options.namesKeptMs);
    this.executor = new RemotePool(options, () => this.#members.values(), observer);
    this.#subscriptions = [
      connection.subscribe(subjects.allToGateway(id), (message) => this.#onMessage(message)),
      connection.subscribe(subjects.heartbeat, ({ data }) =>
        this.#onHeartbeat(parseHeartbeat(data)),
      ),
    ];
    this.#stopListening = connection.onState((state) => this.#onState(state));
    this.#looking = setInterval(() => this.#look(), lookMs);
    connection.publish(subjects.hello, '');
  }

  /** What members serve, and for a while what they have served; the same map until that changes. */
  get procedures(): ReadonlyMap<string, Procedure> {
    return this.#catalog.procedures;
  }

  get state(): RemoteState {
    if (!this.#link.connection.connected) return 'disconnected';
    if (this.#served === '') return 'starting';
    return this.members > 0 ? 'ready' : 'alone';
  }

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

  figures() {
    return Array.from(this.#members.values(), (member) => member.stats());
  }

  /** Finishes the calls for `graceMs` at most, and listens no longer. */
  async close(graceMs: number): Promise<void> {
    await this.executor.close(graceMs);
    clearInterval(this.#looking);
    this.#renewal.stop();
    this.#stopListening();
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#contracts.close();
    for (const { channel } of this.#members.values()) channel.leave();
  }

  #onMessage(message: NatsMessage): void {
    // S.g.<gateway>.<member>, and for a 503 the number of a frame.
    const id = message.subject.split('.')[3] ?? '';
    const isOfMember = !saysNobody(message);
    const member = this.#members.get(id);
    const candidate = this.#candidates.get(id);
    if (member !== undefined) {
      if (isOfMember) this.#noteHeard(member);
      member.channel.onMessage(message);
    } else if (candidate !== undefined && isOfMember) {
      candidate.channel.onMessage(message);
      if (candidate.channel.isOpen) this.#admit(candidate);
    } else this.#candidates.delete(id);
  }

  #onHeartbeat(heartbeat: Heartbeat): void {
    const { id, contract } = heartbeat;
    if (!isNuid(id) || !isNuid(contract)) return;
    const known = this.#members.get(id);
    if (known === undefined) {
      this.#ask(heartbeat);
      return;
    }
    const before = known.heartbeat;
    known.heartbeat = heartbeat;
    // What was sent while it was away has not come.
    if (before.returns !== heartbeat.returns) known.channel.interrupt();
    this.#noteHeard(known);
    known.channel.sync(lookMs);
    if (before.contract !== contract || before.state !== heartbeat.state) this.#renewal.ask();
  }

  /** Anybody can send heartbeats: who sends them is a member when it has answered a sync. */
  #ask(heartbeat: Heartbeat): void {
    const { id, state } = heartbeat;
    const candidate = this.#candidates.get(id);
    if (state === 'draining') this.#candidates.delete(id);
    else if (candidate !== undefined) {
      candidate.heartbeat = heartbeat;
      candidate.channel.sync(lookMs);
    } else {
      const now = clockMs();
      if (!this.#candidates.makeRoom(now)) return;
      const made = new RemoteMember(this.#link, heartbeat, this.executor);
      this.#candidates.add(id, made, now);
      made.channel.sync();
    }
  }

  #admit(member: RemoteMember): void {
    const { id, heartbeat } = member;
    this.#candidates.delete(id);
    if (this.#members.size >= maxMembers) {
      this.#log.warn(
        { event: 'member-refused', member: id, most: maxMembers },
        'a member is not taken: this gateway has as many as it takes',
      );
      return;
    }
    member.heardAt = clockMs();
    this.#members.set(id, member);
    this.#log.info(
      { event: 'member-joined', member: id, version: heartbeat.version },
      'a member has joined',
    );
    this.#renewal.ask();
  }

  #noteHeard(member: RemoteMember): void {
    member.heardAt = clockMs();
    if (member.condition === 'up') return;
    member.condition = 'up';
    this.#log.info({ event: 'member-back', member: member.id }, 'a member is back');
    this.#renewal.ask();
    this.executor.onCapacity();
  }

  #onState(state: NatsState): void {
    if (state === 'disconnected') {
      this.#candidates.clear();
      for (const { channel } of this.#members.values()) channel.interrupt();
    } else if (state === 'reconnected') {
      this.#listensSince = clockMs();
      this.#link.connection.publish(this.#link.subjects.hello, '');
      for (const { channel } of this.#members.values()) channel.sync(0);
    }
  }

  #look(): void {
    const now = clockMs();
    const wasLate = now - this.#lookedAt > lateMs;
    this.#lookedAt = now;
    if (wasLate) this.#listensSince = now;
    if (!this.#link.connection.connected) return;
    this.#candidates.expire(now);
    this.#contracts.look(now);
    for (const member of this.#members.values()) {
      const { channel } = member;
      channel.look(now);
      const { nobodySince = now } = channel;
      const isGone = now - nobodySince > this.#options.memberLimits.goneMs;
      if (isGone || this.#silenceOf(member, now) > forgottenMs) this.#remove(member);
      else if (this.#conditionOf(member, now) !== member.condition) this.#askIfSilent();
    }
    if (this.#catalog.expire(now, this.#listensSince)) this.onProcedures();
  }

  #silenceOf({ heardAt }: RemoteMember, now: number): number {
    return now - Math.max(heardAt, this.#listensSince);
  }

  /** How a member is: no better than before, since nothing was heard of it. */
  #conditionOf(member: RemoteMember, now: number): RemoteMember['condition'] {
    const { memberLimits } = this.#options;
    const silentMs = this.#silenceOf(member, now);
    if (silentMs > memberLimits.hungMs) return 'hung';
    const isSilent = member.condition === 'up' && silentMs > memberLimits.silentMs;
    return isSilent ? 'silent' : member.condition;
  }

  /** All that members had sent has come: those that are silent now are. */
  #judgeAll(): void {
    const now = clockMs();
    for (const member of this.#members.values()) {
      const before = member.condition;
      member.condition = this.#conditionOf(member, now);
      if (member.condition === before) continue;
      if (before === 'up') {
        this.#log.warn(
          { event: 'member-silent', member: member.id },
          'a member is silent: it gets no new calls',
        );
        // Whether anybody is there is told by the answers to its syncs.
        member.channel.interrupt();
        this.#renewal.ask();
      }
      if (member.condition === 'hung') member.lose('member');
    }
  }

  #remove(member: RemoteMember): void {
    const { id, heartbeat } = member;
    this.#members.delete(id);
    const { start } = this.#link;
    const { end } = member.channel;
    this.#link.start = {
      epoch: Math.max(start.epoch, end.epoch),
      next: Math.max(start.next, end.next),
    };
    member.lose('member');
    if (heartbeat.state === 'draining') {
      this.#log.info({ event: 'member-left', member: id }, 'a member has left');
    } else {
      this.#log.warn(
        { event: 'member-gone', member: id },
        'a member is gone: of the calls that it had nobody knows whether they ran',
      );
    }
    this.#renewal.ask();
  }

  #renew(): void {
    const live: KnownContract[] = [];
    const silent: KnownContract[] = [];
    for (const member of this.#members.values()) {
      const { contract, version, started, state } = member.heartbeat;
      const told = this.#contracts.proceduresOf(contract);
      // Until what it serves now is known, it counts with what it served before: the heartbeat may not be its own.
      if (told !== undefined) [member.contract, member.procedures] = [contract, told];
      const { contract: id, procedures } = member;
      if (procedures === undefined || state !== 'ready') continue;
      (member.condition === 'up' ? live : silent).push({ id, version, started, procedures });
    }
    const used = new Set<string>();
    for (const { heartbeat, contract } of this.#members.values()) {
      used.add(heartbeat.contract);
      // A member keeps the procedures of its last contract until the new one is known.
      used.add(contract);
    }
    this.#contracts.keep(used);
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
    if (ids.size > 1) {
      this.#log.warn(
        { event: 'contracts-differ', contracts: [...ids] },
        'members serve different contracts: a call goes to a member that has its procedure',
      );
    }
    if (this.#catalog.update(live, silent, clockMs())) this.onProcedures();
    this.executor.onCapacity();
  }
}
