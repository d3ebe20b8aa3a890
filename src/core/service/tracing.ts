import { createRequire } from 'node:module';
import type { Context, Span, SpanContext, Tracer } from '@opentelemetry/api';
import { wallTimeOf } from '../base/clock.ts';
import { ownVersion } from '../base/package-files.ts';
import type { Place } from '../base/place.ts';
import { StartupError } from '../base/startup-error.ts';
import { neverRan } from '../dispatch/call.ts';
import type { RequestScope, ScopeFacts } from '../dispatch/scope.ts';
import {
  type CallTrace,
  type RequestSpan,
  type RequestTracing,
  type SpanFacts,
  type SpanStart,
  toRemoteSpan,
  toTraceparent,
  toTracestate,
} from '../dispatch/trace.ts';

type Api = typeof import('@opentelemetry/api');

type TraceContext = Pick<ScopeFacts, 'traceparent' | 'tracestate'>;

const load = createRequire(import.meta.url);

/**
 * The version of OpenTelemetry's semantic conventions that all names and attributes of spans follow, those of
 * transports too.
 */
const schemaUrl = 'https://opentelemetry.io/schemas/1.44.0';

/**
 * Makes spans with OpenTelemetry: one for each request that a transport begins a span for, below the span that the
 * request's `traceparent` names, and one for each call below the request's. The tracer provider that the program has
 * registered records them; without a provider nothing is recorded. The package may be missing, so its types must not
 * stand in the declarations: the constructor is private.
 */
export class Tracing implements RequestTracing {
  readonly #api: Api;
  readonly #tracer: Tracer;

  private constructor(api: Api) {
    this.#api = api;
    // This object asks for the provider at each span, so a provider that is registered later is found too.
    const provider = api.trace.getTracerProvider();
    this.#tracer = provider.getTracer('tandem-rpc', ownVersion(), { schemaUrl });
  }

  /** @throws StartupError if @opentelemetry/api is not installed */
  static load(): Tracing {
    try {
      return new Tracing(load('@opentelemetry/api') as Api);
    } catch (error) {
      throw new StartupError(
        'option tracing: it needs the package @opentelemetry/api, which cannot be loaded: npm install @opentelemetry/api',
        { cause: error },
      );
    }
  }

  /** Makes the spans of a request's calls children of the span that the caller sent. */
  join(scope: RequestScope): void {
    const parent = this.#parentOf(scope.traceparent, scope.tracestate);
    scope.trace = new TracedRequest(this.#api, this.#tracer, parent, undefined);
  }

  begin({ name, receivedAt, traceparent, tracestate, facts }: SpanStart): RequestSpan {
    const { trace, SpanKind } = this.#api;
    const valid = traceparent === undefined ? undefined : toTraceparent(traceparent);
    const state =
      valid === undefined || tracestate === undefined ? undefined : toTracestate(tracestate);
    const parent = this.#parentOf(valid, state);
    const startTime = wallTimeOf(receivedAt);
    const options = { kind: SpanKind.SERVER, startTime, attributes: { ...facts } };
    const span = this.#tracer.startSpan(name, options, parent);
    return new TracedRequest(this.#api, this.#tracer, trace.setSpan(parent, span), span);
  }

  /** The span that the caller sent; else the span that is current where the program itself calls. */
  #parentOf(traceparent: string | undefined, tracestate: string | undefined): Context {
    const { context, createTraceState, ROOT_CONTEXT, trace } = this.#api;
    if (traceparent === undefined) return context.active();
    const span = toRemoteSpan(traceparent);
    const named =
      tracestate === undefined ? span : { ...span, traceState: createTraceState(tracestate) };
    return trace.setSpanContext(ROOT_CONTEXT, named);
  }
}

/** Names a span to another process, or thread; an invalid one, which a program without a provider has, not at all. */
function traceContextOf(api: Api, named: SpanContext | undefined): TraceContext {
  if (named === undefined || !api.isSpanContextValid(named)) return {};
  const { traceId, spanId, traceFlags, traceState } = named;
  const flags = traceFlags.toString(16).padStart(2, '0');
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() };
}

/** Where each copy of @opentelemetry/api 1.x finds what the program has registered. */
const registry = Symbol.for('opentelemetry.js.api.1');

/** For `currentTraceContext`; null: it cannot be loaded. */
let ownApi: Api | null | undefined;

/**
 * The span that is current where a program calls without a service. The package takes tens of milliseconds to load, so it is loaded
 * only once the program has registered something there, without which no span is current.
 */
export function currentTraceContext(): TraceContext {
  if (!(registry in globalThis)) return {};
  if (ownApi === undefined) {
    try {
      ownApi = load('@opentelemetry/api') as Api;
    } catch {
      ownApi = null; // The program has a copy of its own, which cannot be found from here.
    }
  }
  return ownApi === null ? {} : traceContextOf(ownApi, ownApi.trace.getActiveSpan()?.spanContext());
}

class TracedRequest implements RequestSpan {
  readonly #api: Api;
  readonly #tracer: Tracer;
  readonly #parent: Context;
  readonly #span: Span | undefined;

  /** @param span undefined: the request has no span of its own, only its calls have */
  constructor(api: Api, tracer: Tracer, parent: Context, span: Span | undefined) {
    this.#api = api;
    this.#tracer = tracer;
    this.#parent = parent;
    this.#span = span;
  }

  call(method: string, id: string | undefined): CallTrace {
    const attributes = {
      'rpc.system.name': 'jsonrpc',
      'rpc.method': method,
      'jsonrpc.protocol.version': '2.0',
      'jsonrpc.request.id': id === undefined ? undefined : idText(id),
    };
    const options = { kind: this.#api.SpanKind.SERVER, attributes };
    const span = this.#tracer.startSpan(method, options, this.#parent);
    return new TracedCall(this.#api, span, this.#parent);
  }

  end(facts: SpanFacts, error: string | undefined): void {
    this.#span?.setAttributes({ ...facts });
    if (error !== undefined) {
      this.#span?.setAttribute('error.type', error);
      this.#span?.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    this.#span?.end();
  }
}

/**
 * The id as the conventions write it: `7` for 7, `abc` for "abc"; undefined for null, which the conventions leave
 * out.
 *
 * @param id JSON text
 */
function idText(id: string): string | undefined {
  if (id === 'null') return undefined;
  return id.startsWith('"') ? (JSON.parse(id) as string) : id;
}

class TracedCall implements CallTrace {
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly #api: Api;
  readonly #span: Span;
  readonly #parent: Context;

  constructor(api: Api, span: Span, parent: Context) {
    const { traceparent, tracestate } = traceContextOf(api, span.spanContext());
    this.traceparent = traceparent;
    this.tracestate = tracestate;
    this.#api = api;
    this.#span = span;
    this.#parent = parent;
  }

  run<T>(handler: () => T): T {
    const { context, trace } = this.#api;
    return context.with(trace.setSpan(this.#parent, this.#span), handler);
  }

  opened(place: Place, waitUs: number, runUs: number): void {
    const span = this.#span;
    span.setAttribute('tandem.place', place);
    span.setAttribute('tandem.wait_ms', waitUs / 1000);
    if (runUs !== neverRan) span.setAttribute('tandem.run_ms', runUs / 1000);
  }

  streamEnded(code: number, values: number): void {
    this.#span.setAttribute('tandem.stream_values', values);
    this.#end(code);
  }

  end(code: number, place: Place, waitUs: number, runUs: number): void {
    this.opened(place, waitUs, runUs);
    this.#end(code);
  }

  #end(code: number): void {
    const span = this.#span;
    if (code !== 0) {
      span.setAttribute('rpc.response.status_code', String(code));
      span.setAttribute('error.type', String(code));
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    span.end();
  }
}
