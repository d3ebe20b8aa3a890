import { messageOf } from '../../base/message-of.ts';
import { StartupError } from '../../base/startup-error.ts';

/** What Node and OpenSSL call it when a certificate is not trusted, or not shown. */
const tlsCode = /CERT|SELF_SIGNED|^UNABLE_TO_|^ERR_(?:TLS|SSL|OSSL)/;

function textOf(error: unknown): string {
  // A socket that ends without an error leaves the client with `undefined`.
  if (error === undefined || error === null) return 'the connection was closed';
  const message = messageOf(error).replaceAll(/\s+/g, ' ').trim();
  if (message !== '') return message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'no reason is known';
}

/**
 * Why it is no use to try again: what the operator has to change, in one line.
 *
 * @param hosts the servers, without credentials
 * @returns undefined where the server may just not be up yet
 */
export function whyHopeless(error: unknown, hosts: string): StartupError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  const text = textOf(error);
  if (error.name === 'AuthorizationError' || error.name === 'UserAuthenticationExpiredError') {
    return new StartupError(
      `nats: ${hosts} does not let this client in (${text}): check the name and password in the URL, natsCreds or natsNkey`,
      { cause: error },
    );
  }
  if (typeof code === 'string' && tlsCode.test(code)) {
    return new StartupError(
      `nats: no TLS with ${hosts} (${text}): check natsCa, and natsCert where the server asks for one`,
      { cause: error },
    );
  }
  if (/does not support 'tls'/.test(text)) {
    return new StartupError(
      `nats: ${hosts} speaks no TLS: write nats:// in place of tls://, and leave natsCa, natsCert and natsKey out`,
      { cause: error },
    );
  }
  if (/unexpected response/.test(text)) {
    return new StartupError(`nats: what answers at ${hosts} is no NATS server: check the port`, {
      cause: error,
    });
  }
  return undefined;
}

export function noAnswer(error: unknown, hosts: string, waitedMs: number): StartupError {
  return new StartupError(
    `nats: no server answered at ${hosts} within ${waitedMs} ms (${textOf(error)}): start nats-server, or check the option nats`,
    { cause: error },
  );
}
