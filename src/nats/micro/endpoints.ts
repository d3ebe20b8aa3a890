import type { NatsConnection, NatsMessage, NatsSubscription } from '../connection/connection.ts';
import { type EndpointOwner, ProcedureEndpoint, RpcEndpoint } from './endpoint.ts';
import type { ForeignContext } from './foreign-request.ts';
import { hasSubject, mayAnswer } from './names.ts';
import { infoText, pingText, type ServiceIdentity, statsText } from './service-texts.ts';

export interface EndpointsOptions extends ForeignContext, ServiceIdentity {
  readonly connection: NatsConnection;
  /** What serves now. */
  readonly served: () => { readonly names: readonly string[]; readonly contract: string };
}

const verbs = ['PING', 'INFO', 'STATS'] as const;

/**
 * A member as a micro service of NATS: any client calls procedures by their subjects, and finds the service with the tools
 * of NATS. Each procedure has a subscription of its own, so that a call never comes to a member that lacks the procedure.
 */
export class Endpoints implements EndpointOwner {
  readonly #options: EndpointsOptions;
  readonly #procedures = new Map<string, ProcedureEndpoint>();
  readonly #rpc: RpcEndpoint;
  readonly #controls: NatsSubscription[];
  #inFlight = 0;
  #whenIdle: (() => void) | undefined;
  #draining: Promise<void> | undefined;
  #info: { readonly text: string; readonly maxBytes: number } | undefined;

  constructor(options: EndpointsOptions) {
    this.#options = options;
    const { connection, name, id } = options;
    this.#rpc = new RpcEndpoint(options, connection, this, name);
    this.renew();
    this.#controls = verbs.flatMap((verb) =>
      [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`].map((subject) =>
        connection.subscribe(subject, (message) => this.#control(verb, message)),
      ),
    );
  }

  /** Other modules serve from now on: procedures have come or gone. */
  renew(): void {
    this.#info = undefined;
    if (this.#draining !== undefined) return;
    const { connection, name: service, served } = this.#options;
    const names = new Set(served().names.filter(hasSubject));
    for (const [name, endpoint] of this.#procedures) {
      if (names.has(name)) continue;
      this.#procedures.delete(name);
      void endpoint.drain();
    }
    for (const name of names) {
      if (this.#procedures.has(name)) continue;
      const made = new ProcedureEndpoint(this.#options, connection, this, service, name);
      this.#procedures.set(name, made);
    }
  }

  /** Takes nothing new. Resolves when what has come is answered. Idempotent; never rejects. */
  drain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  onRequest(): void {
    this.#inFlight++;
  }

  onAnswered(): void {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#whenIdle?.();
  }

  async #drain(): Promise<void> {
    const endpoints = [...this.#procedures.values(), this.#rpc, ...this.#controls];
    await Promise.all(endpoints.map((endpoint) => endpoint.drain()));
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  #control(verb: (typeof verbs)[number], { reply }: NatsMessage): void {
    if (!mayAnswer(reply)) return;
    const { connection, served } = this.#options;
    const { contract } = served();
    const text = {
      PING: () => pingText(this.#options, contract),
      INFO: () => this.#infoText(contract),
      STATS: () => statsText(this.#options, contract, this.#figures(), connection.maxPayload),
    }[verb]();
    connection.publish(reply, text);
  }

  /** Kept until the procedures change: of ten thousand procedures it takes milliseconds to write. */
  #infoText(contract: string): string {
    const { maxPayload: maxBytes } = this.#options.connection;
    if (this.#info?.maxBytes !== maxBytes) {
      const text = infoText(this.#options, contract, this.#figures(), maxBytes);
      this.#info = { text, maxBytes };
    }
    return this.#info.text;
  }

  *#figures() {
    yield this.#rpc;
    yield* this.#procedures.values();
  }
}
