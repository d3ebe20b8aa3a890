import { clockMs } from '../../base/clock.ts';
import type { RequestSpan, RequestTrace, RequestTracing } from '../../dispatch/trace.ts';
import type { Scheme } from './http-server.ts';

/** What a span says of a request when it begins. */
export interface SpanRequest {
  /** As it was sent: any token. */
  readonly method: string;
  /** As the client asked for it, without the query. */
  readonly path: string;
  /** The path that is served, where it is known to be no pattern. */
  readonly route: string | undefined;
  readonly scheme: Scheme;
  readonly remoteAddress: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

/** RFC 9110 and RFC 5789: a span must not have a name for each text that somebody sends. */
const knownMethods = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
]);

/** The client went before it had its answer. */
const clientGone = 'client_gone';

/**
 * The span of one HTTP request, in the words of OpenTelemetry for HTTP servers
 * (https://opentelemetry.io/docs/specs/semconv/http/http-spans/). It ends when the answer is handed to the connection.
 */
export class HttpSpan {
  /** For the scope of the request: its calls are children of the span. */
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

  /** Its answer is written. What the caller did wrong (4xx) is no error of the server's. */
  answered(status: number): void {
    this.#end({ 'http.response.status_code': status }, status >= 500 ? String(status) : undefined);
  }

  /** Its client has gone; nothing happens where it was answered before. */
  left(): void {
    this.#end({}, clientGone);
  }

  #end(facts: Readonly<Record<string, number>>, error: string | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#span.end(facts, error);
  }
}
