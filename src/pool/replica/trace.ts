import { toRemoteSpan } from '../../dispatch/trace.ts';
import type { RequestFacts } from '../../router/lazy-context.ts';

/** Runs a handler with the span of its call as the current span. The front end began that span. */
export type RunTraced = <T>(facts: RequestFacts | undefined, handler: () => T) => T;

/**
 * Loads the function that makes spans in this worker join the trace of the call that makes them. Without a tracer
 * provider in the thread (a module's `setup()` may register one) it has no effect.
 *
 * @throws Error where @opentelemetry/api is not installed
 */
export async function loadRunTraced(): Promise<RunTraced> {
  const { context, createTraceState, ROOT_CONTEXT, trace } = await import('@opentelemetry/api');
  return (facts, handler) => {
    if (facts?.traceparent === undefined) return handler();
    const { traceparent, tracestate } = facts;
    const span = toRemoteSpan(traceparent);
    const traceState = tracestate === undefined ? undefined : createTraceState(tracestate);
    const named = traceState === undefined ? span : { ...span, traceState };
    return context.with(trace.setSpanContext(ROOT_CONTEXT, named), handler);
  };
}
