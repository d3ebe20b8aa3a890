import { setTimeout as delay } from 'node:timers/promises';
import type * as Client from '@nats-io/transport-node';
import { clockMs } from '../../base/clock.ts';
import { messageOf } from '../../base/message-of.ts';
import { StartupError } from '../../base/startup-error.ts';
import type { NatsEvents } from '../events.ts';
import { leastPayload } from '../pace.ts';
import { ClientConnection } from './client-connection.ts';
import type { NatsConnection } from './connection.ts';
import { noAnswer, whyHopeless } from './failure.ts';
import { freshFile, type LoginOptions, toLogin } from './login.ts';

const dialMs = 5000;

/** The client would need Node 22 from 3.4 on; what is installed beside this package is found at run time. */
async function loadClient(): Promise<typeof Client> {
  try {
    return await import('@nats-io/transport-node');
  } catch (error) {
    throw new StartupError(
      'option nats: it needs the package @nats-io/transport-node, which cannot be loaded: npm install @nats-io/transport-node@3.3.1',
      { cause: error },
    );
  }
}

/**
 * Connects, waiting for a server that is not up yet.
 *
 * @param signal its abort ends the waiting
 * @throws StartupError one line that says what is wrong: the options, no server, its refusal; that nobody waits any more
 */
export async function connectNats(
  options: LoginOptions,
  events: NatsEvents,
  signal?: AbortSignal,
): Promise<NatsConnection> {
  const login = toLogin(options);
  const client = await loadClient();
  const given: Client.ConnectionOptions = {
    servers: [...login.hosts],
    name: options.name,
    timeout: Math.min(dialMs, options.startTimeoutMs),
    // Never gives up: the default ends the connection for good after 10 attempts, or 2 refusals.
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    reconnectJitterTLS: 50,
    // A server that stands still is noticed after 3 s.
    pingInterval: 1000,
    maxPingOut: 2,
    noAsyncTraces: true,
    authenticator: toAuthenticators(client, options),
    ...(login.user !== undefined && { user: login.user, pass: login.password ?? '' }),
    ...(login.token !== undefined && { token: login.token }),
    ...(login.tls !== undefined && { tls: login.tls }),
  };
  const hosts = login.hosts.join(', ');
  const until = clockMs() + options.startTimeoutMs;
  const leaving = new Promise<undefined>((resolve) => {
    signal?.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  for (;;) {
    if (signal?.aborted === true) throw new StartupError(`nats: nobody waits for ${hosts}`);
    try {
      const connecting = client.connect(given);
      const connected = await Promise.race([connecting, leaving]);
      if (connected === undefined) {
        closeLate(connecting);
        continue;
      }
      await assertPayload(connected);
      return new ClientConnection(client, connected, events);
    } catch (error) {
      if (error instanceof StartupError) throw error;
      const hopeless = whyHopeless(error, hosts);
      if (hopeless !== undefined) throw hopeless;
      if (clockMs() >= until) throw noAnswer(error, hosts, options.startTimeoutMs);
    }
    await Promise.race([delay(100), leaving]);
  }
}

/** A connection that comes when nobody waits for it any more. */
function closeLate(connecting: Promise<Client.NatsConnection>): void {
  connecting.then(
    (connected) => void connected.close(),
    () => {
      // It has not come.
    },
  );
}

async function assertPayload(connected: Client.NatsConnection): Promise<void> {
  const taken = connected.info?.max_payload ?? 0;
  if (taken >= leastPayload) return;
  await connected.close();
  throw new StartupError(
    `nats: the server takes messages of ${taken} bytes at most: set max_payload in its configuration to ${leastPayload} or more`,
  );
}

function toAuthenticators(
  client: typeof Client,
  { creds, nkey }: LoginOptions,
): Client.Authenticator[] {
  const made: Client.Authenticator[] = [];
  if (creds !== '') made.push(client.credsAuthenticator(freshFile(creds)));
  if (nkey !== '') made.push(client.nkeyAuthenticator(seedOf(freshFile(nkey))));
  for (const authenticator of made) {
    try {
      // Once here: an error within the client would end its connection without a reason.
      authenticator('nonce');
    } catch (error) {
      const [option, path] = creds === '' ? ['natsNkey', nkey] : ['natsCreds', creds];
      throw new StartupError(
        `option ${option}: ${path} holds no credentials of NATS (${messageOf(error)})`,
        { cause: error },
      );
    }
  }
  return made;
}

/** A file ends with a line feed, which is no part of the seed. */
function seedOf(read: () => Uint8Array): () => Uint8Array {
  return () => Buffer.from(Buffer.from(read()).toString('latin1').trim(), 'latin1');
}
