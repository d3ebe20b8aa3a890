import { clockMs } from '../../base/clock.ts';
import type { Place } from '../../base/place.ts';
import { Vacancy } from '../../base/timer.ts';
import { type GoesToSink, goesToSink, type Reply, type ReplySink } from '../../protocol/reply.ts';
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
import {
  CallGroup,
  type CallGroupOwner,
  CostEstimate,
  type GroupReceiver,
  QueuedCall,
} from './call-group.ts';
import type { WaitingGroups } from './waiting-groups.ts';

/**
 * An executor whose calls run elsewhere: in worker threads, or on other machines. The calls of a request make a group. The
 * group waits in a bounded queue, and goes where there is room.
 */
export abstract class QueuedExecutor implements Executor, ExecutorFigures, CallGroupOwner {
  readonly place: Place;
  readonly takesUnparsed = true;
  readonly ending: CallEnding;
  protected abstract readonly waiting: WaitingGroups;
  readonly #costs = new Map<string, CostEstimate>();
  #closing = false;
  /** Told only while the executor closes. */
  readonly #vacancy = new Vacancy();

  constructor(place: Place, maxReplyBytes: number, observer: CallObserver | undefined) {
    this.place = place;
    this.ending = new CallEnding(place, maxReplyBytes, observer);
  }

  abstract get inFlight(): number;
  abstract onTooLarge(group: CallGroup): void;
  abstract onCancelled(group: CallGroup): void;

  /** Whether nothing is here that a close waits for. */
  protected abstract get isAnswered(): boolean;

  execute(call: Call): Reply | Promise<Reply> {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) return this.ending.refuse(call, refusal);
    return new Promise((resolve) => {
      this.#add([this.#itemOf(call)], now, { onReply: resolve });
    });
  }

  executeInto(call: Call, sink: ReplySink): Reply | GoesToSink {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) return this.ending.refuse(call, refusal);
    this.#add([this.#itemOf(call)], now, sink);
    return goesToSink;
  }

  executeInOrder(calls: readonly Call[]): Reply[] | Promise<Reply[]> {
    const first = calls[0];
    if (first === undefined) return [];
    const now = clockMs();
    const refusal = this.#refusal(first.scope, now);
    if (refusal !== undefined) return calls.map((call) => this.ending.refuse(call, refusal));
    return new Promise((resolve) => {
      const items = calls.map((call) => this.#itemOf(call));
      this.#add(items, now, (group) => resolve(group.calls.map(({ reply }) => reply)));
    });
  }

  onDone(group: CallGroup): void {
    this.waiting.leave(group);
  }

  onResume(group: CallGroup): void {
    this.waiting.addBack([group]);
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

  #add(items: readonly QueuedCall[], now: number, receiver: GroupReceiver): void {
    this.waiting.expect(items.length);
    this.waiting.add(new CallGroup(items, now, this, receiver));
  }

  #itemOf(call: Call): QueuedCall {
    const { name } = call.procedure;
    let cost = this.#costs.get(name);
    if (cost === undefined) {
      cost = new CostEstimate();
      this.#costs.set(name, cost);
    }
    return new QueuedCall(call, cost, paramsLength(call));
  }
}
