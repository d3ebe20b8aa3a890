import type {
  NatsConnection,
  NatsHeaders,
  NatsMessage,
  NatsState,
  NatsSubscription,
} from '../../../src/extras/nats/connection/connection.ts';

interface Listener {
  readonly pattern: string;
  readonly on: (message: NatsMessage) => void;
}

function matches(pattern: string, subject: string): boolean {
  if (pattern.endsWith('.*'))
    return subject.slice(0, subject.lastIndexOf('.')) === pattern.slice(0, -2);
  if (pattern.endsWith('.>')) return subject.startsWith(pattern.slice(0, -1));
  return pattern === subject;
}

/**
 * The messages of one process, delivered in their order, a turn of the event loop after they were sent: for what a real server does
 * not do on demand, such as a publish that fails between two others.
 */
export class Bus {
  readonly maxPayload: number;
  /** Whether a message that was sent comes. */
  mayDeliver: (subject: string, data: Uint8Array) => boolean = () => true;
  /** What callbacks threw. */
  readonly failures: unknown[] = [];
  readonly #listeners = new Set<Listener>();
  #queue: (() => void)[] = [];
  #isPlanned = false;
  #names = 0;

  constructor(maxPayload = 2 ** 20) {
    this.maxPayload = maxPayload;
  }

  connect(): BusConnection {
    return new BusConnection(this);
  }

  newName(): string {
    this.#names++;
    return `n${this.#names}`;
  }

  listen(pattern: string, on: (message: NatsMessage) => void): NatsSubscription {
    const listener = { pattern, on };
    this.#listeners.add(listener);
    const unsubscribe = () => void this.#listeners.delete(listener);
    return { unsubscribe, drain: async () => unsubscribe() };
  }

  send(subject: string, reply: string, data: Uint8Array, headers: NatsHeaders): void {
    this.plan(() => {
      if (!this.mayDeliver(subject, data)) return;
      if (this.#deliver(subject, { reply, data, headers, status: 0 })) return;
      if (reply !== '') this.#deliver(reply, { reply: '', data, headers: [], status: 503 });
    });
  }

  /** Done after all that was sent before. */
  plan(action: () => void): void {
    this.#queue.push(action);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      for (const each of this.#queue.splice(0)) each();
    });
  }

  #deliver(
    subject: string,
    message: { reply: string; data: Uint8Array; headers: NatsHeaders; status: number },
  ): boolean {
    const listeners = [...this.#listeners].filter(({ pattern }) => matches(pattern, subject));
    const { reply, data, headers, status } = message;
    const received = Object.assign(
      headers.map(([name, value]): [string, string[]] => [name, [value]]),
      { code: status },
    );
    for (const { on } of listeners) {
      try {
        on({ subject, reply, data, headers: received });
      } catch (error) {
        this.failures.push(error);
      }
    }
    return listeners.length > 0;
  }
}

/** A connection to the bus. */
export class BusConnection implements NatsConnection {
  readonly #bus: Bus;
  readonly #listeners = new Set<(state: NatsState) => void>();
  /** Whether the next message leaves. */
  mayPublish: (subject: string) => boolean = () => true;
  connected = true;
  reconnects = 0;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  get maxPayload(): number {
    return this.#bus.maxPayload;
  }

  nuid(): string {
    return this.#bus.newName();
  }

  subscribe(subject: string, on: (message: NatsMessage) => void): NatsSubscription {
    return this.#bus.listen(subject, on);
  }

  publish(
    subject: string,
    data: Uint8Array | string,
    { reply = '', headers = [] }: { readonly reply?: string; readonly headers?: NatsHeaders } = {},
  ): boolean {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    if (!this.connected || bytes.byteLength > this.maxPayload) return false;
    if (!this.mayPublish(subject)) return false;
    this.#bus.send(subject, reply, bytes, headers);
    return true;
  }

  flush(): Promise<void> {
    if (!this.connected) return Promise.reject(new Error('the connection is lost'));
    return new Promise((resolve) => this.#bus.plan(resolve));
  }

  confirm(): Promise<void> {
    return this.flush();
  }

  onState(listener: (state: NatsState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Loses the server, or finds it again. */
  become(state: 'disconnected' | 'reconnected'): void {
    this.connected = state === 'reconnected';
    if (this.connected) this.reconnects++;
    for (const listener of this.#listeners) listener(state);
  }

  async close(): Promise<void> {
    this.connected = false;
  }
}
