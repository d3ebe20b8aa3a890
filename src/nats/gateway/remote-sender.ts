import type { Refusal } from '../../dispatch/limit.ts';
import { passUs } from '../../dispatch/queue/ageing.ts';
import type { CallGroup, GroupCall } from '../../dispatch/queue/call-group.ts';
import type { Intake } from '../../dispatch/queue/intake.ts';
import type { Sender } from '../../dispatch/queue/waiting-groups.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { afterNextLook } from '../pace.ts';
import type { ChooseMember } from './choose.ts';
import type { RemoteMember } from './remote-member.ts';

export interface SenderLimits {
  /** Calls that this gateway may have with one member. */
  readonly memberInFlight: number;
  /** Bytes of calls that one member may not have taken yet. */
  readonly memberBytes: number;
}

/** When to try again, milliseconds, where nothing has been answered lately, and at most. */
const [usualRetryMs, longestRetryMs] = [1000, 30_000];

/** Sends waiting groups to members: one frame for each, as far as all calls of a turn fit in. */
export class RemoteSender implements Sender {
  readonly #limits: SenderLimits;
  readonly #members: () => Iterable<RemoteMember>;
  readonly #choose: ChooseMember;
  readonly #avoided: (item: GroupCall) => RemoteMember | undefined;
  readonly #answeredPerSecond: () => number;
  readonly #waiting: () => number;
  readonly onSent: () => void;

  /**
   * @param avoided the member that has refused a call
   * @param waiting calls that wait
   */
  constructor(
    limits: SenderLimits,
    members: () => Iterable<RemoteMember>,
    choose: ChooseMember,
    avoided: (item: GroupCall) => RemoteMember | undefined,
    answeredPerSecond: () => number,
    waiting: () => number,
    onSent: () => void,
  ) {
    this.#limits = limits;
    this.#members = members;
    this.#choose = choose;
    this.#avoided = avoided;
    this.#answeredPerSecond = answeredPerSecond;
    this.#waiting = waiting;
    this.onSent = onSent;
  }

  get isIdle(): boolean {
    for (const { isBusy } of this.#members()) if (isBusy) return false;
    return true;
  }

  send(waiting: Intake): void {
    const members = [...this.#members()].filter(({ isTaking }) => isTaking);
    this.#sendParked(waiting, members);
    while (members.some((member) => this.#hasRoom(member))) {
      const { short, long, isLongDue } = waiting.heads();
      const group = isLongDue ? long : (short ?? long);
      if (group === undefined) break;
      const member = this.#memberFor(group, members);
      if (member === undefined) {
        waiting.park(group, keyOf(group));
      } else {
        waiting.take(group, passUs(group.nextUs, !member.isBusy));
        member.add(group);
      }
    }
    for (const member of members) member.flush();
  }

  defer(act: () => void): void {
    afterNextLook(act);
  }

  overload(): Refusal {
    const perSecond = this.#answeredPerSecond();
    const ms = perSecond === 0 ? usualRetryMs : (this.#waiting() / perSecond) * 1000;
    const retryAfterMs = Math.max(1, Math.min(longestRetryMs, Math.ceil(ms)));
    return { code: ErrorCode.Overloaded, data: { retryAfterMs } };
  }

  /** What waits for members of its own does not hold up what any member takes. */
  #sendParked(waiting: Intake, members: readonly RemoteMember[]): void {
    for (let isGoing = true; isGoing; ) {
      isGoing = false;
      for (const group of waiting.parked()) {
        const member = this.#memberFor(group, members);
        if (member === undefined) continue;
        waiting.takeParked(group, keyOf(group));
        member.add(group);
        isGoing = true;
      }
    }
  }

  #memberFor(group: CallGroup, members: readonly RemoteMember[]): RemoteMember | undefined {
    const name = keyOf(group);
    const able = members.filter((member) => this.#hasRoom(member) && member.serves(name));
    const item = group.nextCall;
    const avoided = item && this.#avoided(item);
    if (avoided === undefined) return able.length === 0 ? undefined : this.#choose(able);
    const others = able.filter((member) => member !== avoided);
    if (others.length > 0) return this.#choose(others);
    const isOnlyOne = !members.some(
      (member) => member !== avoided && member.isTaking && member.serves(name),
    );
    return isOnlyOne ? able[0] : undefined;
  }

  /** A member may have been lost since this turn of sending began. */
  #hasRoom({ isTaking, inFlight, channel }: RemoteMember): boolean {
    const { memberInFlight, memberBytes } = this.#limits;
    // A single body that is larger than allowed goes alone.
    const hasRoom =
      inFlight < memberInFlight && (channel.bytes === 0 || channel.bytes < memberBytes);
    return hasRoom && isTaking;
  }
}

/** What a group waits for, where it waits beside others: members that serve its next call. */
function keyOf(group: CallGroup): string {
  return group.nextCall?.call.procedure.name ?? '';
}
