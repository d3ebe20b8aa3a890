import { badTimeoutReason } from '../../dispatch/timeout-header.ts';
import { type Answer, rejection } from '../edge/answer.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { authorityOf } from '../edge/origin.ts';
import type { Checks } from '../edge/request-checks.ts';
import type { RequestHead } from '../edge/request-head.ts';

/** What both servers ask of a request for a WebSocket (RFC 6455, 4.2), on plain data. */
export interface Handshake {
  /**
   * Whether this GET asks for a WebSocket at all. Any other upgrade, such as to `h2c`, is ignored, and the request is
   * answered as an ordinary GET.
   */
  asks(head: RequestHead): boolean;
  /** Why the upgrade is refused; undefined: it may go on. Includes the checks of framing and host. */
  refusal(head: RequestHead, isDraining: boolean): Answer | undefined;
  /** Answers an upgrade for which the service began to end while somebody asked who calls. */
  readonly draining: Answer;
  /**
   * Takes out of the head what a browser adds by itself to the requests of any page, where a page of another origin
   * may have asked. Such a page must not act with the login of the person before the browser.
   */
  withhold(head: RequestHead): void;
}

/**
 * @param takesForeign whether `corsOrigin: '*'` lets pages of other origins in. Not where code of a framework says who
 *   calls: a session may hang on any header, so none can be withheld.
 */
export function createHandshake(
  { corsOrigin }: Pick<HttpOptions, 'corsOrigin'>,
  checks: Checks,
  takesForeign: boolean,
): Handshake {
  const listed = corsOrigin === '*' ? undefined : new Set(corsOrigin);
  const badTimeout = rejection(400, badTimeoutReason);
  const noBody = rejection(400, 'a request for a WebSocket has no body', { close: true });
  const badVersion = rejection(426, 'sec-websocket-version must be 13', {
    headers: ['sec-websocket-version', '13', 'upgrade', 'websocket'],
  });
  const badKey = rejection(400, 'sec-websocket-key must be sent once: 16 bytes in base64');
  const foreign = rejection(403, 'the Origin header names an origin whose pages may not call');
  const draining = rejection(503, 'the service is stopping, try again');

  return {
    draining,
    asks({ upgrade }) {
      return hasToken(upgrade?.upgrade, 'websocket') && hasToken(upgrade?.connection, 'upgrade');
    },
    refusal(head, isDraining) {
      const unsound = checks.framing(head) ?? checks.host(head);
      if (unsound !== undefined) return unsound;
      if (head.contentLength > 0) return noBody;
      if (head.timeoutMs !== undefined && Number.isNaN(head.timeoutMs)) return badTimeout;
      if (head.upgrade?.version !== '13') return badVersion;
      if (!keyGrammar.test(head.upgrade.key ?? '')) return badKey;
      if (isForeign(head)) {
        const isWelcome = listed === undefined ? takesForeign : listed.has(head.origin ?? '');
        if (!isWelcome) return foreign;
      }
      return isDraining ? draining : undefined;
    },
    withhold(head) {
      if (listed !== undefined || !isForeign(head)) return;
      for (const headers of [head.all, head.forwarded]) {
        if (headers === undefined) continue;
        delete headers.cookie;
        if (!byScript.test(headers.authorization ?? '')) delete headers.authorization;
      }
    },
  };
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

/** Whether a page of another host sent the request. Only browsers send an Origin, and no page can forge it. */
function isForeign({ origin, host }: RequestHead): boolean {
  if (origin === undefined) return false;
  const authority = authorityOf(origin);
  return authority === undefined || authority !== host?.toLowerCase();
}

/** Whether a list has the token. The names of protocols are compared as they are, those of HTTP in any case. */
function hasToken(list: string | undefined, token: string, ignoresCase = true): boolean {
  if (list === undefined) return false;
  return list.split(',').some((part) => {
    const one = part.trim();
    return (ignoresCase ? one.toLowerCase() : one) === token;
  });
}
