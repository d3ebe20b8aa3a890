import { clockMs } from '../../base/clock.ts';
import type { Place } from '../../base/place.ts';
import { Vacancy } from '../../base/timer.ts';
import type { Reply, ReplySink } from '../../protocol/reply.ts';
import {
  type Call,
  CallEnding,
  type CallObserver,
  cancelled,
  paramsLength,
  type Refusal,
  refusalBeforeStart,
} from '../call.ts';
import type { Executor, ExecutorFigures } from '../executor.ts';
import type { RequestScope } from '../scope.ts';
import { CostEstimate } from './cost.ts';
import { OrderedCalls, QueuedCall, type QueuedCallOwner, SentBatch } from './queued-call.ts';
import { WaitingCalls, type WaitingLimits, type WaitingOwner } from './waiting-calls.ts';

/** An executor whose calls run elsewhere: in worker threads, or on other machines. They wait in a bounded queue. */
export abstract class QueuedExecutor
  implements Executor, ExecutorFigures, QueuedCallOwner, WaitingOwner
{
  readonly place: Place;
  readonly takesUnparsed = true;
  readonly ending: CallEnding;
  protected readonly waiting: WaitingCalls;
  readonly #costs = new Map<string, CostEstimate>();
  #closing = false;
  /** Told only while the executor closes. */
  readonly #vacancy = new Vacancy();

  constructor(
    place: Place,
    limits: WaitingLimits,
    maxReplyBytes: number,
    observer: CallObserver | undefined,
  ) {
    this.place = place;
    this.ending = new CallEnding(place, maxReplyBytes, observer);
    this.waiting = new WaitingCalls(limits, this);
  }

  abstract get inFlight(): number;
  abstract get isIdle(): boolean;
  abstract send(waiting: WaitingCalls): void;
  abstract defer(act: () => void): void;
  abstract onSent(): void;
  abstract busyForMs(queuedUs: number): number;
  abstract onTooLarge(item: QueuedCall): void;
  abstract onCancelled(item: QueuedCall): void;

  /** Whether nothing is here that a close waits for. */
  protected abstract get isAnswered(): boolean;

  execute(call: Call, sink: ReplySink): void {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) {
      sink.onReply(this.ending.refuse(call, refusal));
      return;
    }
    this.waiting.expect(1);
    this.waiting.add(this.#itemOf(call, now, sink));
  }

  executeInOrder(calls: readonly Call[], sink: ReplySink<readonly Reply[]>): void {
    const [first] = calls;
    if (first === undefined) sink.onReply([]);
    else if (calls.length === 1) this.execute(first, { onReply: (reply) => sink.onReply([reply]) });
    else this.#addInOrder(calls, first.scope, sink);
  }

  onDone(item: QueuedCall): void {
    this.waiting.leave(item);
  }

  onResume(item: QueuedCall): void {
    this.waiting.addBack([item]);
  }

  /** From now on calls are refused. Resolves when nothing is here any more, and after `graceMs` at the latest. */
  protected async stopIntake(graceMs: number): Promise<void> {
    this.#closing = true;
    if (!this.isAnswered) await this.#vacancy.within(graceMs);
  }

  /** For wherever the last call may have ended. */
  protected tellVacancy(): void {
    if (this.#closing && this.isAnswered) this.#vacancy.tell();
  }

  /** Why the calls of a request are refused before they wait; undefined: they are not. */
  #refusal(scope: RequestScope, now: number): Refusal | undefined {
    return this.#closing ? cancelled : refusalBeforeStart(scope, now);
  }

  #addInOrder(
    calls: readonly Call[],
    scope: RequestScope,
    sink: ReplySink<readonly Reply[]>,
  ): void {
    const now = clockMs();
    const refusal = this.#refusal(scope, now);
    if (refusal !== undefined) {
      sink.onReply(calls.map((call) => this.ending.refuse(call, refusal)));
      return;
    }
    this.waiting.expect(calls.length);
    const order = new OrderedCalls(scope, this, sink);
    const [first] = calls.map((call) => this.#itemInOrder(call, now, order));
    if (first !== undefined) this.waiting.add(first);
  }

  /** A call that waits for the one before it: a batch of one. */
  #itemInOrder(call: Call, now: number, order: OrderedCalls): QueuedCall {
    const item = this.#itemOf(call, now, order);
    const { procedure } = call;
    if (procedure.batch !== undefined) item.run = new SentBatch(procedure, item.callUs);
    return item;
  }

  #itemOf(call: Call, now: number, receiver: ReplySink | OrderedCalls): QueuedCall {
    const { name } = call.procedure;
    let cost = this.#costs.get(name);
    if (cost === undefined) {
      cost = new CostEstimate();
      this.#costs.set(name, cost);
    }
    return new QueuedCall(call, cost, paramsLength(call), now, this, receiver);
  }
}
