import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type * as Client from '@nats-io/transport-node';
import { clockMs } from '../../../core/base/clock.ts';
import { messageOf } from '../../../core/base/message-of.ts';
import { StartupError } from '../../../core/base/startup-error.ts';
import type { Config } from '../../../core/config/config.ts';
import { minPayload } from '../pace.ts';
import type {
  NatsConnection,
  NatsEvents,
  NatsHeaders,
  NatsMessage,
  NatsState,
  NatsSubscription,
} from './connection.ts';

/** Where and as whom to connect, as the configuration has it: see the table of options. */
export interface LoginOptions
  extends Pick<Config, 'nats' | 'startTimeoutMs' | (typeof fileOptions)[number]> {
  /** What the server shows in its list of connections. */
  readonly name: string;
}

/** Options that are paths of files; the empty text: not given. */
const fileOptions = ['natsCreds', 'natsNkey', 'natsCa', 'natsCert', 'natsKey'] as const;

const dialMs = 5000;

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
  const login = await loginOf(options);
  const client = await loadClient();
  const given: Client.ConnectionOptions = {
    ...login,
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
    authenticator: await authenticatorsOf(client, options),
  };
  const hosts = login.servers.join(', ');
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
        // The connection may still come, or fail.
        connecting.then((late) => void late.close()).catch(() => {});
        continue;
      }
      await assertPayload(connected);
      return new ClientConnection(client, connected, events);
    } catch (error) {
      if (error instanceof StartupError) throw error;
      const advice = adviceFor(error, hosts);
      if (advice !== undefined) throw new StartupError(`nats: ${advice}`, { cause: error });
      if (clockMs() >= until) {
        throw new StartupError(
          `nats: no server answered at ${hosts} within ${options.startTimeoutMs} ms (${textOf(error)}): start nats-server, or check the option nats`,
          { cause: error },
        );
      }
    }
    await Promise.race([delay(100), leaving]);
  }
}

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

async function assertPayload(connected: Client.NatsConnection): Promise<void> {
  const taken = connected.info?.max_payload ?? 0;
  if (taken >= minPayload) return;
  await connected.close();
  throw new StartupError(
    `nats: the server takes messages of ${taken} bytes at most: set max_payload in its configuration to ${minPayload} or more`,
  );
}

/** What Node and OpenSSL call it when a certificate is not trusted, or not shown. */
const tlsCode = /CERT|SELF_SIGNED|^UNABLE_TO_|^ERR_(?:TLS|SSL|OSSL)/;

/**
 * What the operator has to change, in one line, if trying again is no use.
 *
 * @param hosts the servers, without credentials
 * @returns undefined if the server may just not be up yet
 */
function adviceFor(error: unknown, hosts: string): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  const text = textOf(error);
  if (error.name === 'AuthorizationError' || error.name === 'UserAuthenticationExpiredError') {
    return `${hosts} does not let this client in (${text}): check the name and password in the URL, natsCreds or natsNkey`;
  }
  if (typeof code === 'string' && tlsCode.test(code)) {
    return `no TLS with ${hosts} (${text}): check natsCa, and natsCert where the server asks for one`;
  }
  if (/does not support 'tls'/.test(text)) {
    return `${hosts} speaks no TLS: write nats:// in place of tls://, and leave natsCa, natsCert and natsKey out`;
  }
  if (/unexpected response/.test(text)) {
    return `what answers at ${hosts} is no NATS server: check the port`;
  }
  return undefined;
}

function textOf(error: unknown): string {
  // A socket that ends without an error leaves the client with `undefined`.
  if (error === undefined || error === null) return 'the connection was closed';
  const message = messageOf(error).replaceAll(/\s+/g, ' ').trim();
  if (message !== '') return message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'no reason is known';
}

/**
 * The servers as `host:port`, the only form in which the client reads no credentials, and how to log in.
 *
 * @throws StartupError if servers are given different credentials, two ways to log in are given, or a file can't be read
 */
async function loginOf(
  options: LoginOptions,
): Promise<Client.ConnectionOptions & { readonly servers: string[] }> {
  const { natsCreds, natsNkey, natsCa, natsCert, natsKey } = options;
  const urls = options.nats.map(
    (server) => new URL(server.includes('://') ? server : `nats://${server}`),
  );
  const [first] = urls;
  if (first === undefined) throw new StartupError('option nats: name a server, nats://host:4222');
  if (urls.some((url) => url.username !== first.username || url.password !== first.password)) {
    throw new StartupError(
      'option nats: the servers of one cluster share their users; give each URL the same name and password',
    );
  }
  const name = decoded(first.username);
  const password = decoded(first.password);
  if (name !== '' && (natsCreds !== '' || natsNkey !== '')) {
    const byFile = natsCreds === '' ? 'natsNkey' : 'natsCreds';
    throw new StartupError(
      `option ${byFile}: the URL of the server logs in already; leave out one of the two`,
    );
  }
  for (const option of fileOptions) {
    if (options[option] === '') continue;
    try {
      await readFile(options[option]);
    } catch (error) {
      throw new StartupError(`option ${option}: ${messageOf(error)}`, { cause: error });
    }
  }
  const isTls = natsCa !== '' || natsCert !== '' || urls.some((url) => url.protocol === 'tls:');
  const byName = first.password === '' ? { token: name } : { user: name, pass: password };
  return {
    servers: urls.map((url) => (url.port === '' ? `${url.hostname}:4222` : url.host)),
    ...(name !== '' && byName),
    ...(isTls && {
      tls: {
        ...(natsCa !== '' && { caFile: natsCa }),
        ...(natsCert !== '' && { certFile: natsCert, keyFile: natsKey }),
      },
    }),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    throw new StartupError(
      'option nats: a % in the name or password of a URL is written as %25, and so are other signs: %40 is @',
      { cause: error },
    );
  }
}

async function authenticatorsOf(
  client: typeof Client,
  { natsCreds, natsNkey }: LoginOptions,
): Promise<Client.Authenticator[]> {
  const made: Client.Authenticator[] = [];
  if (natsCreds !== '') made.push(client.credsAuthenticator(await freshFile(natsCreds)));
  if (natsNkey !== '') {
    const read = await freshFile(natsNkey);
    // A file ends with a line feed, which is no part of the seed.
    made.push(
      client.nkeyAuthenticator(() => Buffer.from(read().toString('latin1').trim(), 'latin1')),
    );
  }
  try {
    // Once here: an error within the client would end its connection without a reason.
    for (const authenticator of made) authenticator('nonce');
  } catch (error) {
    const [option, path] = natsCreds === '' ? ['natsNkey', natsNkey] : ['natsCreds', natsCreds];
    throw new StartupError(
      `option ${option}: ${path} holds no credentials of NATS (${messageOf(error)})`,
      { cause: error },
    );
  }
  return made;
}

/**
 * What a file held when it was read last. The client wants it at once, so each attempt to log in has the file read for the next one:
 * credentials that were replaced are refused once, and log in 100 ms later.
 */
async function freshFile(path: string): Promise<() => Buffer> {
  let last: Buffer = await readFile(path);
  const readAgain = async (): Promise<void> => {
    last = await readFile(path);
  };
  return () => {
    // It may be being replaced now: what it held before may still log in.
    readAgain().catch(() => {});
    return last;
  };
}

/** Subjects whose denial was told: a client that publishes to ever new ones must not fill the memory. */
const maxDenials = 1000;

/** The connection of the npm client, with what the client leaves out: see each method. */
class ClientConnection implements NatsConnection {
  readonly #client: typeof Client;
  readonly #nc: Client.NatsConnection;
  readonly #events: NatsEvents;
  readonly #listeners = new Set<(state: NatsState) => void>();
  /** What waits for the server, and is told when it is lost. */
  readonly #waiting = new Set<(reason: Error) => void>();
  readonly #denials = new Set<string>();
  readonly #deniedSubscriptions: string[] = [];
  #lostAt = 0;
  #closing: Promise<void> | undefined;
  connected = true;
  maxPayload = 0;
  reconnects = 0;

  constructor(client: typeof Client, nc: Client.NatsConnection, events: NatsEvents) {
    this.#client = client;
    this.#nc = nc;
    this.#events = events;
    this.#readLimits();
    void this.#watch();
  }

  nuid(): string {
    return this.#client.nuid.next();
  }

  subscribe(
    subject: string,
    on: (message: NatsMessage) => void,
    { queue }: { readonly queue?: string } = {},
  ): NatsSubscription {
    if (subject.split('.').includes('') || /\s/.test(subject)) {
      throw new Error(`no subject of NATS: ${JSON.stringify(subject)}`);
    }
    const subscription = this.#nc.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error, message) => {
        if (error === null) this.#deliver(subject, message, on);
        else if (this.#isDenial(error)) this.#deniedSubscriptions.push(subject);
      },
    });
    return {
      unsubscribe: () => subscription.unsubscribe(),
      drain: () =>
        this.#untilLost(subscription.drain()).catch(() => {
          // Lost or closed: nothing comes any more.
        }),
    };
  }

  publish(
    subject: string,
    data: Uint8Array | string,
    { reply, headers }: { readonly reply?: string; readonly headers?: NatsHeaders } = {},
  ): boolean {
    if (!this.connected) return false;
    try {
      this.#nc.publish(subject, data, {
        ...(reply !== undefined && { reply }),
        ...(headers !== undefined && { headers: this.#toHeaders(headers) }),
      });
      return true;
    } catch {
      // Too large, or closed a moment ago. Nothing was sent.
      return false;
    }
  }

  async flush(): Promise<void> {
    if (!this.connected) throw lostError();
    await this.#untilLost(this.#nc.flush());
  }

  async confirm(): Promise<void> {
    await this.flush();
    const [first, ...more] = this.#deniedSubscriptions;
    if (first === undefined) return;
    const others = more.length === 0 ? '' : ` and ${more.length} more`;
    throw new StartupError(
      `nats: the server does not let this client subscribe to ${first}${others}: allow it in the permissions of the user`,
    );
  }

  onState(listener: (state: NatsState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.flush().catch(() => {
      // There is nobody to send it to.
    });
    this.connected = false;
    await this.#nc.close();
    this.#tellWaiting();
    this.#tell('closed');
  }

  #toHeaders(headers: NatsHeaders): Client.MsgHdrs {
    const made = this.#client.headers();
    // A line break would end the header, and the client refuses it.
    for (const [name, value] of headers) made.append(name, value.replaceAll(/\p{Cc}+/gu, ' '));
    return made;
  }

  /** Whatever throws here ends the client's reader, which is then deaf and says that it is connected. */
  #deliver(subject: string, message: Client.Msg, on: (message: NatsMessage) => void): void {
    try {
      on(message);
    } catch (error) {
      this.#events.callbackFailed(subject, error);
    }
  }

  #isDenial(error: Error): error is Client.PermissionViolationError {
    return error instanceof this.#client.errors.PermissionViolationError;
  }

  async #watch(): Promise<void> {
    for await (const status of this.#nc.status()) {
      if (status.type === 'staleConnection' || status.type === 'disconnect') this.#onLost();
      else if (status.type === 'reconnect') this.#onBack();
      else if (status.type === 'error') this.#onError(status.error);
    }
  }

  #onLost(): void {
    if (!this.connected) return;
    this.connected = false;
    this.#lostAt = clockMs();
    this.#tellWaiting();
    this.#events.disconnected();
    this.#tell('disconnected');
  }

  #onBack(): void {
    if (this.connected || this.#closing !== undefined) return;
    this.connected = true;
    this.reconnects++;
    this.#readLimits();
    this.#events.reconnected(clockMs() - this.#lostAt);
    this.#tell('reconnected');
  }

  #onError(error: Error): void {
    if (!this.#isDenial(error)) return;
    const denial = `${error.operation} ${error.subject}`;
    if (this.#denials.has(denial) || this.#denials.size === maxDenials) return;
    this.#denials.add(denial);
    this.#events.denied(error.operation, error.subject);
  }

  #readLimits(): void {
    this.maxPayload = this.#nc.info?.max_payload ?? this.maxPayload;
  }

  #tell(state: NatsState): void {
    // A copy: who begins to listen now is told of the next change.
    for (const listener of new Set(this.#listeners)) {
      try {
        listener(state);
      } catch (error) {
        this.#events.callbackFailed(state, error);
      }
    }
  }

  #tellWaiting(): void {
    const reason = lostError();
    for (const reject of this.#waiting) reject(reason);
  }

  /** The client leaves promises of a connection that is closed pending for ever. */
  #untilLost<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const lost = (reason: Error): void => {
        this.#waiting.delete(lost);
        reject(reason);
      };
      this.#waiting.add(lost);
      promise.then(
        (value) => {
          this.#waiting.delete(lost);
          resolve(value);
        },
        (cause: unknown) => lost(lostError(cause)),
      );
    });
  }
}

function lostError(cause?: unknown): Error {
  return new Error('the connection to NATS is lost', { cause });
}
