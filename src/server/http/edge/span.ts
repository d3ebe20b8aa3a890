import { clockMs } from '../../../core/base/clock.ts';
import type { RequestSpan, RequestTrace, RequestTracing } from '../../../core/dispatch/trace.ts';
import type { Scheme } from './route.ts';

/** What the spans of all messages of one socket say. */
export interface SocketTrace {
  /** The path as the client asked for it, without the query. */
  readonly path: string;
  /** The path that is served; undefined: a framework's pattern may have matched. */
  readonly route: string | undefined;
  readonly remoteAddress: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

/** What a span says of a request at its begin. */
interface SpanRequest extends SocketTrace {
  /** The method as it was sent: any token. */
  readonly method: string;
  readonly scheme: Scheme;
}

/**
 * Methods of RFC 9110 and RFC 5789. All others share one name: a caller must not be able to make any number of span
 * names.
 */
const knownMethods = new Set('CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE'.split(' '));

/** The error of a span whose client left before it had its answer. */
export const clientGone = 'client_gone';

/**
 * The span of one HTTP request, in OpenTelemetry's terms for HTTP servers
 * (https://opentelemetry.io/docs/specs/semconv/http/http-spans/). It ends when the answer is handed to the
 * connection.
 */
export class HttpSpan {
  /** For the request's scope: the spans of its calls are children of this span. */
  readonly calls: RequestTrace;
  readonly #span: RequestSpan;
  #isOver = false;

  constructor(tracing: RequestTracing, request: SpanRequest) {
    const { method, path, route, scheme, remoteAddress, traceparent, tracestate } = request;
    const isKnown = knownMethods.has(method);
    const shown = isKnown ? method : 'HTTP';
    this.#span = tracing.begin({
      name: route === undefined ? shown : `${shown} ${route}`,
      receivedAt: clockMs(),
      traceparent,
      tracestate,
      facts: {
        'http.request.method': isKnown ? method : '_OTHER',
        'http.request.method_original': isKnown ? undefined : method,
        'url.path': path,
        'url.scheme': scheme,
        'http.route': route,
        'client.address': remoteAddress,
      },
    });
    this.calls = this.#span;
  }

  /** Ends the span: the answer is written. A 4xx is the caller's mistake, so the span has no error then. */
  answered(status: number): void {
    this.#end({ 'http.response.status_code': status }, status >= 500 ? String(status) : undefined);
  }

  /** Ends the span: the client has gone. Does nothing if the request was answered before. */
  left(): void {
    this.#end({}, clientGone);
  }

  #end(facts: Readonly<Record<string, number>>, error: string | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#span.end(facts, error);
  }
}

/** Begins the span of one message of a WebSocket: from its arrival until its answer is handed to the socket. */
export function beginMessage(
  tracing: RequestTracing,
  { route, path, remoteAddress, traceparent, tracestate }: SocketTrace,
  receivedAt: number,
): RequestSpan {
  return tracing.begin({
    name: route === undefined ? 'WebSocket message' : `WebSocket message ${route}`,
    receivedAt,
    traceparent,
    tracestate,
    facts: {
      'network.protocol.name': 'websocket',
      'url.path': path,
      'http.route': route,
      'client.address': remoteAddress,
    },
  });
}
