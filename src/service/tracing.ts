import { createRequire } from 'node:module';
import type { Context, Span, Tracer } from '@opentelemetry/api';
import { wallTimeOf } from '../base/clock.ts';
import type { Place } from '../base/place.ts';
import { StartupError } from '../base/startup-error.ts';
import { neverRan } from '../dispatch/observer.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { type CallTrace, type RequestTrace, toRemoteSpan } from '../dispatch/trace.ts';
import type { Reply } from '../jsonrpc/reply.ts';

type Api = typeof import('@opentelemetry/api');

/**
 * Spans by OpenTelemetry: one for each HTTP request with calls, below the one its `traceparent` names, and
 * one for each call below that. Recorded by the tracer provider that the program has registered; without
 * one nothing is.
 *
 * @throws StartupError where @opentelemetry/api is not installed
 */
export async function loadTracing(): Promise<Tracing> {
  try {
    return new Tracing(await import('@opentelemetry/api'));
  } catch (error) {
    throw new StartupError(
      'option tracing: it needs the package @opentelemetry/api, which cannot be loaded: npm install @opentelemetry/api',
      { cause: error },
    );
  }
}

export class Tracing {
  readonly #api: Api;
  readonly #tracer: Tracer;

  constructor(api: Api) {
    this.#api = api;
    // A provider that is registered later is found all the same: this one asks for it.
    this.#tracer = api.trace.getTracer('tandem-rpc', version());
  }

  /** Makes the calls of a request children of what its caller traces. */
  join(scope: RequestScope): void {
    scope.trace = new TracedRequest(this.#api, this.#tracer, this.#parentOf(scope));
  }

  /** Makes a span of an HTTP request, and its calls children of that. */
  request(
    scope: RequestScope,
    path: string,
    handle: () => Reply | Promise<Reply>,
  ): Reply | Promise<Reply> {
    const { trace, SpanKind } = this.#api;
    const parent = this.#parentOf(scope);
    const attributes = {
      'http.request.method': 'POST',
      'url.path': path,
      'client.address': scope.remoteAddress,
    };
    const startTime = wallTimeOf(scope.receivedAt);
    const options = { kind: SpanKind.SERVER, startTime, attributes };
    const span = this.#tracer.startSpan(`POST ${path}`, options, parent);
    scope.trace = new TracedRequest(this.#api, this.#tracer, trace.setSpan(parent, span));
    const end = (reply: Reply): Reply => {
      span.setAttribute('http.response.status_code', reply === undefined ? 204 : 200);
      span.end();
      return reply;
    };
    const reply = handle();
    return reply instanceof Promise ? reply.then(end) : end(reply);
  }

  /** What the caller sent, else what is current where a program calls by itself. */
  #parentOf({ traceparent, tracestate }: RequestScope): Context {
    const { context, createTraceState, ROOT_CONTEXT, trace } = this.#api;
    if (traceparent === undefined) return context.active();
    const span = toRemoteSpan(traceparent);
    const named =
      tracestate === undefined ? span : { ...span, traceState: createTraceState(tracestate) };
    return trace.setSpanContext(ROOT_CONTEXT, named);
  }
}

class TracedRequest implements RequestTrace {
  readonly #api: Api;
  readonly #tracer: Tracer;
  readonly #parent: Context;

  constructor(api: Api, tracer: Tracer, parent: Context) {
    this.#api = api;
    this.#tracer = tracer;
    this.#parent = parent;
  }

  call(method: string, id: string | undefined): CallTrace {
    const attributes = {
      'rpc.system': 'jsonrpc',
      'rpc.method': method,
      'rpc.jsonrpc.version': '2.0',
      'rpc.jsonrpc.request_id': id,
    };
    const span = this.#tracer.startSpan(method, { attributes }, this.#parent);
    return new TracedCall(this.#api, span, this.#parent);
  }
}

class TracedCall implements CallTrace {
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly #api: Api;
  readonly #span: Span;
  readonly #parent: Context;

  constructor(api: Api, span: Span, parent: Context) {
    const named = span.spanContext();
    if (api.isSpanContextValid(named)) {
      const { traceId, spanId, traceFlags, traceState } = named;
      this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
      this.tracestate = traceState?.serialize();
    }
    this.#api = api;
    this.#span = span;
    this.#parent = parent;
  }

  run<T>(handler: () => T): T {
    const { context, trace } = this.#api;
    return context.with(trace.setSpan(this.#parent, this.#span), handler);
  }

  end(code: number, place: Place, waitUs: number, runUs: number): void {
    const span = this.#span;
    span.setAttribute('tandem.place', place);
    span.setAttribute('tandem.wait_ms', waitUs / 1000);
    if (runUs !== neverRan) span.setAttribute('tandem.run_ms', runUs / 1000);
    if (code !== 0) {
      span.setAttribute('rpc.jsonrpc.error_code', code);
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    span.end();
  }
}

/** By the package's own name: the way to package.json differs between src/ and dist/. */
function version(): string {
  const load = createRequire(import.meta.url);
  return (load('tandem-rpc/package.json') as { version: string }).version;
}
