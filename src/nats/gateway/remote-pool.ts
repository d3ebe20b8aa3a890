import { clockMs } from '../../base/clock.ts';
import { remotePlace } from '../../base/place.ts';
import { cancelled, limitExceeded } from '../../dispatch/limit.ts';
import type { CallObserver } from '../../dispatch/observer.ts';
import type { CallTrain, QueuedCall } from '../../dispatch/queue/call-train.ts';
import type { CallerShares } from '../../dispatch/queue/queued-callers.ts';
import { QueuedExecutor } from '../../dispatch/queue/queued-executor.ts';
import { Sweep } from '../../dispatch/queue/sweep.ts';
import { WaitingTrains } from '../../dispatch/queue/waiting-trains.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { OpenStreams } from '../../dispatch/streams/open-streams.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import type { RemoteMember, RemoteOwner } from './remote-member.ts';
import { RemoteSender, type SenderOptions } from './remote-sender.ts';

export interface RemotePoolOptions extends SenderOptions {
  readonly maxReplyBytes: number;
  /** Calls that may wait for a member, and how long, milliseconds. */
  readonly maxQueue: number;
  readonly maxQueueMs: number;
  readonly shares: CallerShares;
  /** The streams that calls to members have opened. */
  readonly streams: OpenStreams;
}

/** What has happened to calls since the start. */
export interface RemoteCounters {
  /** Calls that were sent again, since they had not been delivered or not been run. */
  requeued: number;
  /** Calls of which nobody knows what became. */
  lost: number;
}

/** How often calls in flight are looked at, milliseconds. */
const lookMs = 50;

/**
 * The executor over the members of a service on other machines. What finds no member waits here, as calls wait for workers: bounded,
 * and shared out among callers.
 */
export class RemotePool extends QueuedExecutor implements RemoteOwner {
  readonly counters: RemoteCounters = { requeued: 0, lost: 0 };
  readonly keyOf: (scope: RequestScope) => string;
  readonly streams: OpenStreams;
  readonly #members: () => Iterable<RemoteMember>;
  protected readonly waiting: WaitingTrains;
  readonly #sweep = new Sweep(lookMs, (now) => this.#look(now));
  /** The members that have refused calls: another one is asked once. */
  readonly #avoided = new WeakMap<QueuedCall, RemoteMember>();
  readonly #pace = new AnsweringPace();

  constructor(
    options: RemotePoolOptions,
    members: () => Iterable<RemoteMember>,
    observer: CallObserver | undefined,
  ) {
    super(remotePlace, options.maxReplyBytes, observer);
    this.keyOf = (scope) => options.shares.keyOf(scope);
    this.#members = members;
    this.streams = options.streams;
    const sender = new RemoteSender(options, {
      members,
      avoided: (item) => this.#avoided.get(item),
      answeredPerSecond: () => this.#pace.perSecond,
      waiting: () => this.waiting.size,
      onSent: () => this.#sweep.wake(),
    });
    this.waiting = new WaitingTrains(options, sender);
  }

  /** Calls that wait for a member. */
  get queued(): number {
    return this.waiting.size;
  }

  get inFlight(): number {
    let calls = 0;
    for (const member of this.#members()) calls += member.inFlight;
    return calls;
  }

  /** See {@link TrainOwner}. */
  override onDone(train: CallTrain): void {
    super.onDone(train);
    this.tellVacancy();
  }

  /** See {@link TrainOwner}. */
  onTooLarge(train: CallTrain): void {
    const refusal = limitExceeded(this.ending.maxReplyBytes);
    this.waiting.refuse(train, refusal);
    for (const member of this.#members()) member.stop(train, refusal);
  }

  /** See {@link TrainOwner}. */
  onCancelled(train: CallTrain): void {
    for (const member of this.#members()) member.cancel(train);
    this.waiting.refuse(train, cancelled);
  }

  /** See {@link RemoteOwner}. */
  onCapacity(): void {
    if (this.waiting.size > 0) this.waiting.plan();
    else this.tellVacancy();
  }

  /** See {@link RemoteOwner}. */
  onUnstarted(trains: readonly CallTrain[]): void {
    const [gone, others] = [[] as CallTrain[], [] as CallTrain[]];
    for (const train of trains) (train.scope.cancelled ? gone : others).push(train);
    for (const train of gone) this.waiting.refuse(train, cancelled);
    for (const train of others) this.counters.requeued += train.waiting;
    this.waiting.takeBack(others);
  }

  /** See {@link RemoteOwner}. */
  mayGoElsewhere(item: QueuedCall, code: number, member: RemoteMember): boolean {
    if (code !== ErrorCode.Overloaded && code !== ErrorCode.MethodNotFound) return true;
    if (this.#avoided.has(item)) return false;
    for (const other of this.#members()) {
      if (other === member || !other.isTaking || !other.serves(item.call.procedure.name)) continue;
      this.#avoided.set(item, member);
      return true;
    }
    return false;
  }

  /** See {@link RemoteOwner}. */
  onCompleted(): void {
    this.#pace.note();
  }

  /** See {@link RemoteOwner}. */
  onLost(calls: number): void {
    this.counters.lost += calls;
  }

  /**
   * Finishes what is here, for `graceMs` at most: then what waits gets -32003, what is with members -32002.
   */
  async close(graceMs: number): Promise<void> {
    await this.stopIntake(graceMs);
    this.#sweep.stop();
    this.waiting.refuseAll(cancelled);
    for (const member of this.#members()) member.lose('shutdown');
    // What was held behind calls that were lost just now.
    this.waiting.refuseAll(cancelled);
  }

  protected get isAnswered(): boolean {
    return this.waiting.size === 0 && this.inFlight === 0;
  }

  #look(now: number): boolean {
    for (const member of this.#members()) member.expire(now);
    this.waiting.expire(now);
    if (this.waiting.size > 0) this.waiting.plan();
    this.tellVacancy();
    return !this.isAnswered;
  }
}

/** How many calls are answered in a second, of the last whole one. */
class AnsweringPace {
  #second = 0;
  #now = 0;
  #before = 0;

  note(): void {
    this.#turn();
    this.#now++;
  }

  get perSecond(): number {
    this.#turn();
    return this.#before;
  }

  #turn(): void {
    const second = Math.floor(clockMs() / 1000);
    if (second === this.#second) return;
    this.#before = second === this.#second + 1 ? this.#now : 0;
    this.#now = 0;
    this.#second = second;
  }
}
