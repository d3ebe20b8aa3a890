import type * as Client from '@nats-io/transport-node';
import { clockMs } from '../../base/clock.ts';
import { StartupError } from '../../base/startup-error.ts';
import type { NatsEvents } from '../events.ts';
import type {
  NatsConnection,
  NatsHeaders,
  NatsMessage,
  NatsState,
  NatsSubscription,
} from './connection.ts';

class Message implements NatsMessage {
  readonly #message: Client.Msg;

  constructor(message: Client.Msg) {
    this.#message = message;
  }

  get subject(): string {
    return this.#message.subject;
  }

  get reply(): string {
    return this.#message.reply ?? '';
  }

  get data(): Uint8Array {
    return this.#message.data;
  }

  get status(): number {
    return this.#message.headers?.code ?? 0;
  }

  header(name: string): string {
    const { headers } = this.#message;
    if (headers === undefined) return '';
    const wanted = name.toLowerCase();
    const found = headers.keys().find((key) => key.toLowerCase() === wanted);
    return found === undefined ? '' : headers.get(found);
  }

  headers(): Record<string, string> {
    const all = Object.create(null) as Record<string, string>;
    for (const [key, values] of this.#message.headers ?? []) {
      const name = key.toLowerCase();
      const before = all[name];
      all[name] = [...(before === undefined ? [] : [before]), ...values].join(', ');
    }
    return all;
  }
}

/** Subjects whose denial was told: a client that publishes to ever new ones must not fill the memory. */
const maxDenials = 1000;

/** The connection of the npm client, with what the client leaves out: see each method. */
export class ClientConnection implements NatsConnection {
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
        if (error !== null) this.#onSubscriptionError(subject, error);
        else this.#deliver(subject, message, on);
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

  async rtt(): Promise<number> {
    const from = clockMs();
    await this.flush();
    return clockMs() - from;
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
      on(new Message(message));
    } catch (error) {
      this.#events.callbackFailed(subject, error);
    }
  }

  #onSubscriptionError(subject: string, error: Error): void {
    if (!(error instanceof this.#client.errors.PermissionViolationError)) return;
    this.#deniedSubscriptions.push(subject);
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
    if (!(error instanceof this.#client.errors.PermissionViolationError)) return;
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
