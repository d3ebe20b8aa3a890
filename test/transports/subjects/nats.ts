import { type NatsConnection as Client, connect, headers, type Msg, nuid } from 'nats';
import { connectNats } from '../../../src/extras/nats/connection/connect.ts';
import { Endpoints } from '../../../src/extras/nats/micro/endpoints.ts';
import { natsOptions, RecordedEvents } from '../../nats/connected.ts';
import type { NatsServer } from '../../nats/nats-server.ts';
import { CutProxy, type Cutting } from '../cut-proxy.ts';
import type { Connection, SentFacts, Subject } from '../subject.ts';
import { headersOf, optionsOf } from './http.ts';

/** Another program's client of NATS, whose answers come to an inbox of its own. */
class NatsCaller implements Connection {
  readonly #client: Client;
  readonly #subject: string;
  readonly #inbox = `answers.${nuid.next()}`;
  readonly #answers: AsyncIterator<Msg>;

  private constructor(client: Client, service: string) {
    this.#client = client;
    this.#subject = `${service}.rpc`;
    this.#answers = client.subscribe(this.#inbox)[Symbol.asyncIterator]();
  }

  /** Rejects where nobody serves. */
  static async open(url: string, service: string): Promise<NatsCaller> {
    const client = await connect({ servers: url });
    try {
      await client.request(`$SRV.PING.${service}`, '', { timeout: 60_000 });
    } catch (error) {
      await client.close();
      throw error;
    }
    return new NatsCaller(client, service);
  }

  async send(message: string | Uint8Array, facts: SentFacts = {}): Promise<void> {
    const sent = headers();
    for (const [name, value] of Object.entries(headersOf(facts))) {
      if (value !== undefined) sent.set(name, value);
    }
    this.#client.publish(this.#subject, message, { reply: this.#inbox, headers: sent });
    await this.#client.flush();
  }

  sendPart(): Promise<void> {
    throw new Error('a message of NATS is whole, or it is not there');
  }

  async receive(): Promise<string | undefined> {
    const { value, done } = await this.#answers.next();
    if (done === true) throw new Error('closed');
    const text = value.string();
    return text === '' ? undefined : text;
  }

  leave(): void {
    void this.#client.close();
  }
}

/**
 * The endpoint `<service>.rpc` of a member, as clients see it that are no gateways.
 *
 * @param cutting how the stream between the member and the server is cut; undefined: it is not
 */
export function natsEndpoints(server: () => NatsServer, cutting?: Cutting): Subject {
  return {
    name: cutting === undefined ? 'NATS' : `NATS, ${cutting.name}`,
    can: ['messages', 'metadata', 'authenticates', 'says-nothing', 'counts-bodies', 'reads-on'],
    carries: () => true,
    async serve(service, options) {
      const { authenticate, forwardHeaders, maxBodyBytes } = optionsOf(options);
      const { url } = server();
      const proxy = cutting && (await CutProxy.open(Number(new URL(url).port), cutting));
      const own = proxy === undefined ? url : `nats://127.0.0.1:${proxy.port}`;
      const connection = await connectNats(natsOptions(own), new RecordedEvents());
      const name = `s${connection.nuid()}`;
      const endpoints = new Endpoints({
        connection,
        service,
        name,
        id: connection.nuid(),
        version: '1.0.0',
        started: new Date(0).toISOString(),
        served: () => ({ names: [], contract: 'none' }),
        authenticate,
        forwardHeaders,
        maxBodyBytes,
        maxDepth: 64,
        natsReplyPrefixes: ['answers'],
      });
      await connection.confirm();
      let closing: Promise<void> | undefined;
      return {
        async connect() {
          // The server of NATS sends on to the member what comes before the end of its subscriptions: that end must have arrived.
          if (closing !== undefined) await connection.flush();
          return NatsCaller.open(url, name);
        },
        async close() {
          proxy?.close();
          closing ??= endpoints.drain().then(() => connection.close());
          await closing;
        },
      };
    },
  };
}
