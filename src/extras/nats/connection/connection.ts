interface ReceivedHeaders extends Iterable<[name: string, values: string[]]> {
  /** 503 from a server that found no receiver; 0 from a client. */
  readonly code: number;
}

/** What came at a subscription. Its parts are read when they are asked for. */
export interface NatsMessage {
  readonly subject: string;
  /** Where the sender wants its answer. */
  readonly reply?: string;
  /** Part of what the socket read: to be copied if it is kept for longer than the callback runs. */
  readonly data: Uint8Array;
  readonly headers?: ReceivedHeaders;
}

/** Whether the server says that nobody has taken a message whose reply subject this was. */
export function saysNobody({ headers }: NatsMessage): boolean {
  return headers !== undefined && headers.code !== 0;
}

/** All headers: names in lower case, repeated ones joined with ", ". A new object without a prototype. */
export function headersOf({ headers }: NatsMessage): Record<string, string | undefined> {
  const all = Object.create(null) as Record<string, string | undefined>;
  for (const [key, values] of headers ?? []) {
    const name = key.toLowerCase();
    const before = all[name];
    all[name] = [...(before === undefined ? [] : [before]), ...values].join(', ');
  }
  return all;
}

/** The first header of a name, in any case; the empty text: there is none. */
export function headerOf({ headers }: NatsMessage, name: string): string {
  for (const [key, [value = '']] of headers ?? []) if (key.toLowerCase() === name) return value;
  return '';
}

export type NatsHeaders = readonly (readonly [name: string, value: string])[];

export interface NatsSubscription {
  /** Nothing comes any more, what is on its way neither. */
  unsubscribe(): void;
  /** What the server has sent still comes. Resolves when all of it has come, or the connection is lost. */
  drain(): Promise<void>;
}

export type NatsState = 'disconnected' | 'reconnected' | 'closed';

/**
 * A connection that the client keeps for as long as the process wants it. The client loses what is published while
 * the server is away, without a word; so nothing is published then, and who publishes is told.
 */
export interface NatsConnection {
  /** False from the loss of the server until it is back. */
  readonly connected: boolean;
  /** Bytes of the largest message, headers included, as the server says. */
  readonly maxPayload: number;
  readonly reconnects: number;
  /** A new unique name, 22 letters and digits. */
  nuid(): string;
  /** @throws Error if the subject has an empty token or a blank: the server would drop the connection for it */
  subscribe(
    subject: string,
    on: (message: NatsMessage) => void,
    options?: { readonly queue?: string },
  ): NatsSubscription;
  /** @returns false if nothing was sent: not connected, or larger than `maxPayload` */
  publish(
    subject: string,
    data: Uint8Array | string,
    options?: { readonly reply?: string; readonly headers?: NatsHeaders },
  ): boolean;
  /** Resolves when the server has read all that was published. Rejects if the connection is lost before. */
  flush(): Promise<void>;
  /** @throws StartupError if the server denied a subscription that was made before */
  confirm(): Promise<void>;
  /** @returns what ends the listening */
  onState(listener: (state: NatsState) => void): () => void;
  /** Sends what was published, and ends. Idempotent; never rejects. */
  close(): Promise<void>;
}

/** What an operator should know of a connection. */
export interface NatsEvents {
  /** The connection is lost. The client tries to come back until the process ends. */
  disconnected(): void;
  /** @param afterMs since the connection was lost */
  reconnected(afterMs: number): void;
  /** The permissions of the server do not allow it. Told once for each subject. */
  denied(operation: 'publish' | 'subscription', subject: string): void;
  /** Code of this package threw at a message of `subject`. The connection goes on. */
  callbackFailed(subject: string, error: unknown): void;
}

/** What the hook `authenticate` is told of who calls over NATS. NATS names no sender. */
export interface NatsFacts {
  /** Names in lower case, repeated headers joined with ", ". Read only. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly remoteAddress: undefined;
  readonly method: 'NATS';
  readonly path: string;
}
