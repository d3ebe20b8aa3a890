import { type Answer, rejection } from '../edge/answer.ts';
import { isForeign } from '../edge/request-checks.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { Exchange } from '../exchange.ts';
import { type AskWho, admitted, type Routes } from '../routes.ts';
import { type SocketContext, type SocketFacts, Sockets } from './sockets.ts';

const withBody = rejection(400, 'a request for a WebSocket has no body', { close: true });
const badVersion = rejection(426, 'sec-websocket-version must be 13', {
  headers: ['sec-websocket-version', '13', 'upgrade', 'websocket'],
});
const badKey = rejection(400, 'sec-websocket-key must be sent once: 16 bytes in base64');
const foreign = rejection(403, 'the Origin header names an origin whose pages may not call');
const stopping = rejection(503, 'the service is stopping, try again');

/** Upgrades requests to WebSockets (RFC 6455, 4.2), on either server. */
export class Upgrades {
  readonly context: SocketContext;
  readonly #routes: Routes;
  readonly #takesForeign: boolean;
  /** The origins whose pages may open WebSockets; undefined: those of any origin. */
  readonly #origins: ReadonlySet<string> | undefined;

  /**
   * @param takesForeign whether `corsOrigin: '*'` lets pages of other origins in. Not if code of a framework says who
   *   calls: a session may hang on any header, so none can be withheld.
   */
  constructor(routes: Routes, takesForeign: boolean) {
    const { service, options, inFlight, outflow } = routes.context;
    const sockets = new Sockets(service, options);
    this.context = { service, options, inFlight, outflow, sockets };
    this.#routes = routes;
    this.#takesForeign = takesForeign;
    const { corsOrigin } = options;
    this.#origins = corsOrigin === '*' ? undefined : new Set(corsOrigin);
  }

  get size(): number {
    return this.context.sockets.size;
  }

  /**
   * Whether this GET asks for a WebSocket at all. Any other upgrade, such as to `h2c`, is ignored, and the request is
   * answered as an ordinary GET.
   */
  asks({ upgrade }: RequestHead): boolean {
    return hasToken(upgrade?.upgrade, 'websocket') && hasToken(upgrade?.connection, 'upgrade');
  }

  /**
   * Upgrades a request that asks for it, or answers why not. Must be called in its handler.
   *
   * @param askWho undefined: `options.authenticate` is asked, if it is there
   * @param open makes a WebSocket of the connection
   */
  upgrade(
    exchange: Exchange,
    askWho: AskWho | undefined,
    open: (facts: SocketFacts) => void,
  ): void {
    const { head } = this.#routes;
    const refused = this.#refusal(head);
    if (refused !== undefined) {
      exchange.answer(refused);
      return;
    }
    this.#withhold(head);
    exchange.facts.take(head);
    const { headers, timeoutMs, traceparent, tracestate } = exchange.facts;
    const { remoteAddress, callerHeader, showsFaults } = exchange.facts;
    const { service, options, inFlight } = this.context;
    const { path } = options;
    const verdict = this.#routes.ask(exchange, { method: 'GET', path }, askWho);
    // The service may begin to end while somebody asks who calls.
    const late = () => (inFlight.draining ? stopping : undefined);
    exchange.upgrade(
      (scope) => verdict && admitted(service, scope, verdict, late),
      ({ authText }) =>
        open({
          headers,
          timeoutMs,
          traceparent,
          tracestate,
          remoteAddress,
          callerHeader,
          showsFaults,
          path,
          route: path,
          authText,
        }),
    );
  }

  #refusal(head: RequestHead): Answer | undefined {
    const { checks } = this.#routes.context;
    const unsound = checks.framing(head, false) ?? checks.host(head);
    if (unsound !== undefined) return unsound;
    if (head.contentLength > 0) return withBody;
    const badTimeout = checks.timeout(head);
    if (badTimeout !== undefined) return badTimeout;
    if (head.upgrade?.version !== '13') return badVersion;
    if (!keyGrammar.test(head.upgrade.key ?? '')) return badKey;
    if (isForeign(head)) {
      const isWelcome = this.#origins?.has(head.origin ?? '') ?? this.#takesForeign;
      if (!isWelcome) return foreign;
    }
    return this.context.inFlight.draining ? stopping : undefined;
  }

  /**
   * Takes out of the head what a browser adds by itself to the requests of any page, where a page of another origin
   * may have asked. Such a page must not act with the login of the person before the browser.
   */
  #withhold(head: RequestHead): void {
    if (this.#origins !== undefined || !isForeign(head)) return;
    for (const headers of [head.all, head.forwarded]) {
      if (headers === undefined) continue;
      delete headers.cookie;
      if (!byScript.test(headers.authorization ?? '')) delete headers.authorization;
    }
  }
}

/** The name under which JSON-RPC is offered, where the client offers it; otherwise no subprotocol is chosen. */
export function subprotocolOf(offered: string | undefined): 'jsonrpc' | '' {
  return hasToken(offered, 'jsonrpc', false) ? 'jsonrpc' : '';
}

/** 16 bytes in base64: the last of the 22 characters holds two bits. */
const keyGrammar = /^[\d+/A-Za-z]{21}[AQgw]==$/;

/**
 * A browser adds Basic, Digest and Negotiate by itself, once somebody has logged in. No script of a page can set the
 * header of a WebSocket, so one with a bearer's token comes from another program, which may call itself what it likes.
 */
const byScript = /^bearer /i;

/** Whether a list has the token. The names of protocols are compared as they are, those of HTTP in any case. */
function hasToken(list: string | undefined, token: string, ignoresCase = true): boolean {
  if (list === undefined) return false;
  return list.split(',').some((part) => {
    const one = part.trim();
    return (ignoresCase ? one.toLowerCase() : one) === token;
  });
}
