import { type Call, type CallObserver, cancelled } from '../../../src/core/dispatch/call.ts';
import type { QueuedCall } from '../../../src/core/dispatch/queue/queued-call.ts';
import { QueuedExecutor } from '../../../src/core/dispatch/queue/queued-executor.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { tableOf } from '../../../src/core/procedures/router.ts';
import type { Procedure } from '../../../src/core/procedures/types.ts';
import type { Router } from '../../../src/index.ts';

/** An executor whose workers do what the test says. */
export abstract class SimulatedExecutor extends QueuedExecutor {
  protected readonly isIdle = false;
  protected readonly isAnswered = true;

  constructor(maxReplyBytes: number, observer?: CallObserver, workers?: number) {
    const shares = { keyOf: (scope: RequestScope) => scope.callerKey ?? '', weightOf: () => 1 };
    const limits = { maxQueue: 100_000, maxQueueMs: 600_000, shares };
    super('worker', { ...limits, ...(workers && { workers }) }, maxReplyBytes, observer);
  }

  /** The calls that wait. */
  get left(): number {
    return this.queued;
  }

  protected defer(): void {}
  protected onSent(): void {}
  protected busyForMs(): number {
    return 1;
  }
  onTooLarge(item: QueuedCall): void {
    this.onCancelled(item);
  }
  onCancelled(item: QueuedCall): void {
    if (item.state !== 'sent' || item.receiver?.withdraw(item) === true) {
      this.refuse(item, cancelled);
    }
  }
}

/** A request of one caller. */
export function scopeOf(callerKey: string): RequestScope {
  const scope = new RequestScope();
  scope.callerKey = callerKey;
  return scope;
}

export function callOf(
  router: Router,
  name: string,
  id: string,
  scope: RequestScope,
  params?: Call['params'],
): Call {
  const procedure = tableOf(router).get(name) as Procedure;
  return { procedure, id, params, source: undefined, start: -1, end: -1, scope };
}
