/** Executors and services answer into sinks: tests await what comes. */
import type { Call } from '../src/core/dispatch/call.ts';
import type { Executor } from '../src/core/dispatch/executor.ts';
import type { RequestScope } from '../src/core/dispatch/scope.ts';
import type { Service } from '../src/core/dispatch/service.ts';
import { promised, type Reply } from '../src/core/protocol/reply.ts';

export function replyOf(executor: Executor, call: Call): Promise<Reply> {
  return promised((sink) => executor.execute(call, sink));
}

/** Of an executor that takes several calls at a time. */
export function repliesOf(executor: Executor, calls: readonly Call[]): Promise<readonly Reply[]> {
  return promised((sink) => executor.executeInOrder?.(calls, sink));
}

export function answerOf(
  service: Pick<Service, 'handle'>,
  body: string | Uint8Array,
  scope: RequestScope,
): Promise<Reply> {
  return promised((sink) => service.handle(body, scope, sink));
}
