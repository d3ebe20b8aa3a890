import { deadlineExceeded, lostCall, type Refusal } from '../../dispatch/limit.ts';
import { neverRan } from '../../dispatch/observer.ts';
import type { CallTrain, QueuedCall } from '../../dispatch/queue/call-train.ts';
import type { LossReason } from '../../jsonrpc/errors.ts';

/** A member answers its calls at their deadlines. The gateway does so itself so much later, milliseconds. */
const graceMs = 500;

/** A call that is with a member. */
export interface SentCall {
  readonly item: QueuedCall;
  /** Its frame; 0: it has not left. */
  n: number;
  readonly sentAt: number;
}

/** The calls of this gateway that are with one member, by their tickets. */
export class SentCalls {
  readonly #sent = new Map<number, SentCall>();
  #tickets = 0;

  get size(): number {
    return this.#sent.size;
  }

  has(ticket: number): boolean {
    return this.#sent.has(ticket);
  }

  /** The ticket of the call that is added next. */
  get nextTicket(): number {
    return this.#tickets + 1;
  }

  /** Gives a call its ticket. */
  add(item: QueuedCall, now: number): void {
    const ticket = ++this.#tickets;
    item.ticket = ticket;
    this.#sent.set(ticket, { item, n: 0, sentAt: now });
  }

  /** Calls have left, in the frame `n`. */
  note(tickets: readonly number[], n: number): void {
    for (const ticket of tickets) {
      const sent = this.#sent.get(ticket);
      if (sent !== undefined) sent.n = n;
    }
  }

  /** Takes a call out; undefined: it is here no more. */
  take(ticket: number): SentCall | undefined {
    const sent = this.#sent.get(ticket);
    if (sent !== undefined) this.#sent.delete(ticket);
    return sent;
  }

  /** Takes out those of the tickets that are still here. */
  takeAll(tickets: readonly number[]): SentCall[] {
    return tickets.flatMap((ticket) => this.take(ticket) ?? []);
  }

  /** The calls of a train that are here, from the one at `index` on. */
  ticketsOf(train: CallTrain, index = 0): number[] {
    const tickets: number[] = [];
    for (const item of train.calls.slice(index)) {
      if (this.#sent.get(item.ticket)?.item === item) tickets.push(item.ticket);
    }
    return tickets;
  }

  /** Answers the calls of a train with a refusal. */
  refuse(train: CallTrain, refusal: Refusal): void {
    for (const { item } of this.takeAll(this.ticketsOf(train))) item.refuse(refusal, neverRan);
  }

  /** Answers calls that nobody knows any more what became of. @returns how many */
  lose(reason: LossReason, now: number, isMeant: (sent: SentCall) => boolean): number {
    let calls = 0;
    for (const [ticket, sent] of this.#sent) {
      if (!isMeant(sent)) continue;
      calls++;
      this.#sent.delete(ticket);
      sent.item.refuse(lostCall(sent.item.call, reason), (now - sent.sentAt) * 1000);
    }
    return calls;
  }

  /** Tickets of calls that were not answered at their deadlines. */
  late(now: number): number[] {
    const late: number[] = [];
    for (const [ticket, { item }] of this.#sent) {
      if (now > item.call.scope.expiresAt + graceMs) late.push(ticket);
    }
    return late;
  }

  /** Answers a call that is late. */
  expire(ticket: number, now: number): void {
    const sent = this.take(ticket);
    if (sent === undefined) return;
    const { item, sentAt } = sent;
    item.refuse(deadlineExceeded(item.call.scope.timeoutMs), (now - sentAt) * 1000);
  }
}
