import type { RequestSpan, RequestTrace, RequestTracing } from '../../dispatch/trace.ts';

/** What the spans of all messages of one socket say. */
export interface SocketTrace {
  /** The path that is served; undefined where a framework may have chosen the handler. */
  readonly route: string | undefined;
  readonly path: string;
  readonly remoteAddress: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

/** The span of one message: from its arrival until its answer is handed to the socket. */
export class MessageSpan {
  /** For the scope of the message: the spans of its calls are children of this span. */
  readonly calls: RequestTrace;
  readonly #span: RequestSpan;

  constructor(tracing: RequestTracing, socket: SocketTrace, receivedAt: number) {
    const { route, path, remoteAddress, traceparent, tracestate } = socket;
    this.#span = tracing.begin({
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
    this.calls = this.#span;
  }

  /** @param failure the code of an error that is this service's, not its caller's; undefined: there is none */
  answered(failure: number | undefined): void {
    this.#span.end({}, failure === undefined ? undefined : String(failure));
  }

  left(): void {
    this.#span.end({}, 'client_gone');
  }
}
