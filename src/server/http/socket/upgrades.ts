import { type Answer, rejection } from '../edge/answer.ts';
import { type Checks, isForeign } from '../edge/request-checks.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { ExchangeContext } from '../exchange.ts';
import { type SocketContext, Sockets } from './sockets.ts';

const withBody = rejection(400, 'a request for a WebSocket has no body', { close: true });
const badVersion = rejection(426, 'sec-websocket-version must be 13', {
  headers: ['sec-websocket-version', '13', 'upgrade', 'websocket'],
});
const badKey = rejection(400, 'sec-websocket-key must be sent once: 16 bytes in base64');
const foreign = rejection(403, 'the Origin header names an origin whose pages may not call');
const stopping = rejection(503, 'the service is stopping, try again');

/** Which requests become WebSockets (RFC 6455, 4.2), on either server. */
export class Upgrades {
  readonly context: SocketContext;
  readonly #checks: Checks;
  readonly #takesForeign: boolean;
  /** The origins whose pages may open WebSockets; undefined: those of any origin. */
  readonly #origins: ReadonlySet<string> | undefined;

  /**
   * @param takesForeign whether `corsOrigin: '*'` lets pages of other origins in. Not if code of a framework says who
   *   calls: a session may hang on any header, so none can be withheld.
   */
  constructor(context: ExchangeContext, takesForeign: boolean) {
    const { service, options, checks } = context;
    this.context = { ...context, sockets: new Sockets(service, options) };
    this.#checks = checks;
    this.#takesForeign = takesForeign;
    const { corsOrigin } = options;
    this.#origins = corsOrigin === '*' ? undefined : new Set(corsOrigin);
  }

  get size(): number {
    return this.context.sockets.size;
  }

  /**
   * Takes nobody new, and ends each socket whose messages are answered.
   *
   * @param quietMs see {@link InFlight.drain}
   */
  drain(quietMs: number): Promise<void> {
    const { sockets, inFlight, options } = this.context;
    const answered = inFlight.drain(options.shutdownGraceMs, quietMs);
    sockets.drain();
    return answered;
  }

  /**
   * Whether this GET asks for a WebSocket at all. Any other upgrade, such as to `h2c`, is ignored, and the request is
   * answered as an ordinary GET.
   */
  asks({ upgrade }: RequestHead): boolean {
    return hasToken(upgrade?.upgrade, 'websocket') && hasToken(upgrade?.connection, 'upgrade');
  }

  /** What is asked of such a request beyond the checks of every request. */
  refusal(head: RequestHead): Answer | undefined {
    if (head.contentLength > 0) return withBody;
    const badTimeout = this.#checks.timeout(head);
    if (badTimeout !== undefined) return badTimeout;
    if (head.upgrade?.version !== '13') return badVersion;
    if (!keyGrammar.test(head.upgrade.key ?? '')) return badKey;
    if (isForeign(head)) {
      const isWelcome = this.#origins?.has(head.origin ?? '') ?? this.#takesForeign;
      if (!isWelcome) return foreign;
    }
    return this.ending();
  }

  /** The service may begin to end while somebody asks who calls. */
  ending(): Answer | undefined {
    return this.context.inFlight.draining ? stopping : undefined;
  }

  /**
   * Takes out of the head what a browser adds by itself to the requests of any page, where a page of another origin
   * may have asked. Such a page must not act with the login of the person before the browser.
   */
  withhold(head: RequestHead): void {
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
