import type { Refusal } from '../../dispatch/limit.ts';
import { passUs } from '../../dispatch/queue/ageing.ts';
import type { CallTrain, QueuedCall } from '../../dispatch/queue/call-train.ts';
import type { Intake } from '../../dispatch/queue/intake.ts';
import type { Sender } from '../../dispatch/queue/waiting-trains.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { afterNextLook } from '../pace.ts';
import type { ChooseMember } from './choose.ts';
import type { RemoteMember } from './remote-member.ts';

export interface SenderOptions {
  /** Calls that this gateway may have with one member. */
  readonly memberInFlight: number;
  /** Bytes of calls that one member may not have taken yet. */
  readonly memberBytes: number;
  readonly choose: ChooseMember;
}

/** What a sender asks of the pool whose trains it sends. */
export interface SendingPool {
  members(): Iterable<RemoteMember>;
  /** The member that has refused a call; undefined: none has. */
  avoided(item: QueuedCall): RemoteMember | undefined;
  /** Calls that were answered in the last second. */
  answeredPerSecond(): number;
  /** Calls that wait. */
  waiting(): number;
  /** See {@link Sender.onSent}. */
  onSent(): void;
}

/** When to try again, milliseconds, where nothing has been answered lately, and at most. */
const [usualRetryMs, longestRetryMs] = [1000, 30_000];

/** Sends waiting trains to members: one frame for each, as far as all calls of a turn fit in. */
export class RemoteSender implements Sender {
  readonly #options: SenderOptions;
  readonly #pool: SendingPool;

  constructor(options: SenderOptions, pool: SendingPool) {
    this.#options = options;
    this.#pool = pool;
  }

  get isIdle(): boolean {
    for (const { isBusy } of this.#pool.members()) if (isBusy) return false;
    return true;
  }

  onSent(): void {
    this.#pool.onSent();
  }

  send(waiting: Intake): void {
    const members = [...this.#pool.members()].filter(({ isTaking }) => isTaking);
    this.#sendParked(waiting, members);
    while (members.some((member) => this.#hasRoom(member))) {
      const { short, long, isLongDue } = waiting.heads();
      const train = isLongDue ? long : (short ?? long);
      if (train === undefined) break;
      const member = this.#memberFor(train, members);
      if (member === undefined) {
        waiting.park(train, keyOf(train));
      } else {
        waiting.take(train, passUs(train.nextUs, !member.isBusy));
        member.add(train);
      }
    }
    for (const member of members) member.flush();
  }

  defer(act: () => void): void {
    afterNextLook(act);
  }

  overload(): Refusal {
    const perSecond = this.#pool.answeredPerSecond();
    const ms = perSecond === 0 ? usualRetryMs : (this.#pool.waiting() / perSecond) * 1000;
    const retryAfterMs = Math.max(1, Math.min(longestRetryMs, Math.ceil(ms)));
    return { code: ErrorCode.Overloaded, data: { retryAfterMs } };
  }

  /** What waits for members of its own does not hold up what any member takes. */
  #sendParked(waiting: Intake, members: readonly RemoteMember[]): void {
    for (let isGoing = true; isGoing; ) {
      isGoing = false;
      for (const train of waiting.parked()) {
        const member = this.#memberFor(train, members);
        if (member === undefined) continue;
        waiting.takeParked(train, keyOf(train));
        member.add(train);
        isGoing = true;
      }
    }
  }

  #memberFor(train: CallTrain, members: readonly RemoteMember[]): RemoteMember | undefined {
    const { choose } = this.#options;
    const name = keyOf(train);
    const able = members.filter((member) => this.#hasRoom(member) && member.serves(name));
    const item = train.nextCall;
    const avoided = item && this.#pool.avoided(item);
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
    const { memberInFlight, memberBytes } = this.#options;
    // A single body that is larger than allowed goes alone.
    const hasRoom =
      inFlight < memberInFlight && (channel.bytes === 0 || channel.bytes < memberBytes);
    return hasRoom && isTaking;
  }
}

/** What a train waits for, where it waits beside others: members that serve its next call. */
function keyOf(train: CallTrain): string {
  return train.nextCall?.call.procedure.name ?? '';
}
