import { clockMs } from '../../../core/base/clock.ts';
import { remotePlace } from '../../../core/base/place.ts';
import type { Config } from '../../../core/config/config.ts';
import {
  type CallObserver,
  cancelled,
  limitExceeded,
  usualRetryMs,
} from '../../../core/dispatch/call.ts';
import { Sweep } from '../../../core/dispatch/deadline.ts';
import { passUs } from '../../../core/dispatch/queue/cost.ts';
import type { CallerShares } from '../../../core/dispatch/queue/fair-queue.ts';
import type { QueuedCall } from '../../../core/dispatch/queue/queued-call.ts';
import {
  QueuedExecutor,
  type WaitingLimits,
} from '../../../core/dispatch/queue/queued-executor.ts';
import type { ReplyMemory } from '../../../core/dispatch/reply-memory.ts';
import type { OpenStreams } from '../../../core/dispatch/streams/open-streams.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import type { MemberLimits } from '../liveness.ts';
import { afterNextLook } from '../pace.ts';
import type { MemberOwner, RemoteMember } from './remote-member.ts';

/** Chooses one of several members; there is one at least. */
export type ChooseMember = <Member extends Pick<RemoteMember, 'inFlight' | 'othersLoad'>>(
  members: readonly Member[],
) => Member;

export interface RemotePoolOptions extends WaitingLimits, Pick<Config, 'maxReplyBytes'> {
  readonly memberLimits: MemberLimits;
  readonly choose: ChooseMember;
  readonly replyMemory: ReplyMemory;
  readonly streams: OpenStreams;
}

/** How often calls in flight are looked at, milliseconds. */
const lookMs = 50;

/** After so long callers are told to try again at most, milliseconds. */
const maxRetryMs = 30_000;

/**
 * The executor over the members of a service on other machines. What finds no member waits here, as calls wait for workers: bounded,
 * and shared out among callers. What may go leaves in one frame for each member, as far as all calls of a turn fit in.
 */
export class RemotePool extends QueuedExecutor implements MemberOwner {
  /** Since the start: calls that were sent again, since they had not come to a member or not run; calls of which nobody knows what became. */
  readonly counters = { requeued: 0, lost: 0 };
  readonly shares: CallerShares;
  readonly streams: OpenStreams;
  readonly replyMemory: ReplyMemory;
  readonly #options: RemotePoolOptions;
  readonly #members: () => Iterable<RemoteMember>;
  readonly #sweep = new Sweep(lookMs, (now) => this.#look(now));
  /** The members that have refused calls: another one is asked once. */
  readonly #avoided = new WeakMap<QueuedCall, RemoteMember>();
  /** Calls that were answered in the second `#second`, and in the second before it. */
  #answered = 0;
  #answeredBefore = 0;
  #second = 0;

  constructor(
    options: RemotePoolOptions,
    members: () => Iterable<RemoteMember>,
    observer: CallObserver | undefined,
  ) {
    super(remotePlace, options, options.maxReplyBytes, observer);
    this.#options = options;
    this.#members = members;
    this.shares = options.shares;
    this.streams = options.streams;
    this.replyMemory = options.replyMemory;
  }

  get inFlight(): number {
    let calls = 0;
    for (const member of this.#members()) calls += member.inFlight;
    return calls;
  }

  protected get isIdle(): boolean {
    for (const { isBusy } of this.#members()) if (isBusy) return false;
    return true;
  }

  protected send(): void {
    const members = [...this.#members()].filter(({ isTaking }) => isTaking);
    this.resumeProcedures((head) => this.#memberFor(head, members) !== undefined);
    while (members.some((member) => this.#hasRoom(member))) {
      const { short, long, isLongDue } = this.heads();
      const item = isLongDue ? long : (short ?? long);
      if (item === undefined) break;
      const member = this.#memberFor(item, members);
      // What waits for members of its own does not hold up what any member takes.
      if (member === undefined) this.setAside(item);
      else {
        this.take(item, passUs(item.nextUs, !member.isBusy));
        item.sendTo(member);
      }
    }
    for (const member of members) member.flush();
  }

  protected defer(act: () => void): void {
    afterNextLook(act);
  }

  protected onSent(): void {
    this.#sweep.wake();
  }

  protected busyForMs(): number {
    this.#turnSecond();
    const perSecond = this.#answeredBefore;
    const ms = perSecond === 0 ? usualRetryMs : (this.queued / perSecond) * 1000;
    return Math.max(1, Math.min(maxRetryMs, Math.ceil(ms)));
  }

  override onDone(item: QueuedCall): void {
    super.onDone(item);
    this.tellVacancy();
  }

  onTooLarge(item: QueuedCall): void {
    if (item.state === 'sent') item.receiver?.withdraw(item);
    this.refuse(item, limitExceeded(this.ending.maxReplyBytes));
  }

  onCancelled(item: QueuedCall): void {
    if (item.state === 'sent') item.receiver?.cancel(item);
    else this.refuse(item, cancelled);
  }

  onCapacity(): void {
    if (this.queued > 0) this.planSend();
    else this.tellVacancy();
  }

  onUnstarted(items: readonly QueuedCall[]): void {
    // From the last one on, so that none goes on whose caller has left.
    for (const item of items.toReversed()) {
      if (item.scope.cancelled) this.refuse(item, cancelled);
    }
    const left = items.filter(({ isAnswered }) => !isAnswered);
    this.counters.requeued += left.length;
    this.addBackUnsent(left);
  }

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

  onCompleted(): void {
    this.#turnSecond();
    this.#answered++;
  }

  /** Finishes what is here, for `graceMs` at most: then what waits gets -32003, what is with members -32002. */
  async close(graceMs: number): Promise<void> {
    await this.stopIntake(graceMs);
    this.#sweep.stop();
    this.refuseQueued(cancelled);
    for (const member of this.#members()) member.lose('shutdown');
    // What was held behind calls that were lost just now.
    this.refuseQueued(cancelled);
  }

  protected get isAnswered(): boolean {
    return this.queued === 0 && this.inFlight === 0;
  }

  #turnSecond(): void {
    const second = Math.floor(clockMs() / 1000);
    if (second === this.#second) return;
    this.#answeredBefore = second === this.#second + 1 ? this.#answered : 0;
    this.#answered = 0;
    this.#second = second;
  }

  #look(now: number): boolean {
    for (const member of this.#members()) member.expire(now);
    this.refuseLate(now);
    if (this.queued > 0) this.planSend();
    this.tellVacancy();
    return !this.isAnswered;
  }

  #memberFor(item: QueuedCall, members: readonly RemoteMember[]): RemoteMember | undefined {
    const { choose } = this.#options;
    const { name } = item.procedure;
    const able = members.filter((member) => this.#hasRoom(member) && member.serves(name));
    const avoided = this.#avoided.get(item);
    if (avoided === undefined) return able.length === 0 ? undefined : choose(able);
    const others = able.filter((member) => member !== avoided);
    if (others.length > 0) return choose(others);
    const isOnlyOne = !members.some(
      (member) => member !== avoided && member.isTaking && member.serves(name),
    );
    return isOnlyOne ? able[0] : undefined;
  }

  /** A member may have been lost since this turn of sending began. */
  #hasRoom({ isTaking, inFlight, channel }: RemoteMember): boolean {
    const { memberLimits } = this.#options;
    // A single body that is larger than allowed goes alone.
    const hasRoom =
      inFlight < memberLimits.inFlight &&
      (channel.bytes === 0 || channel.bytes < memberLimits.bytes);
    return hasRoom && isTaking;
  }
}

/**
 * The less loaded of two that chance takes. Chosen by what this gateway itself has there: what members tell of themselves is
 * older than the calls that all gateways send meanwhile, and brings them all to the same one.
 */
export const lessLoadedOfTwo: ChooseMember = (members) => {
  const at = Math.floor(Math.random() * members.length);
  const first = members[at] as (typeof members)[number];
  if (members.length === 1) return first;
  const other = (at + 1 + Math.floor(Math.random() * (members.length - 1))) % members.length;
  const second = members[other] as (typeof members)[number];
  const isLess = second.inFlight + second.othersLoad < first.inFlight + first.othersLoad;
  return isLess ? second : first;
};
