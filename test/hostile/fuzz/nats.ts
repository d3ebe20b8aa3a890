import assert from 'node:assert/strict';
import fc from 'fast-check';
import { connect, type NatsConnection } from 'nats';
import { parseHeartbeat } from '../../../src/extras/nats/liveness.ts';
import { readToGateway, readToMember } from '../../../src/extras/nats/wire.ts';
import { RpcApp } from '../../../src/index.ts';
import { moduleUrl } from '../../files.ts';
import { parseModel } from '../../jsonrpc/model.ts';
import { NatsServer } from '../../nats/nats-server.ts';
import { orHang } from '../../or-hang.ts';
import { patience } from '../../patience.ts';
import { settled } from '../../protocol/case.ts';
import { turns } from '../../turns.ts';
import { placedProcedures, referenceOf, withoutHints } from '../reference.ts';
import { type Garbage, garbageBytes, type NatsCase, natsCase, type Sender } from './nats-case.ts';
import { ModelGateway } from './nats-gateway.ts';
import { assertProperty, type Fuzzer } from './run.ts';

/** Until a hang is told. */
const hangMs = 60_000;

/** Who sends garbage: a few, so that the session of each is broken many times. */
const senders = 3;

const maxDepth = 64;
const procedure = 'in.any';

/** A message is one that may be, whole, or an Error; nothing else comes of bytes. */
function assertRead(bytes: Uint8Array): void {
  for (const read of [readToMember, readToGateway, parseHeartbeat]) {
    try {
      const message: object = read(bytes);
      const lists = Object.values(message).filter(Array.isArray).flat();
      assert.ok(!lists.includes(undefined), `a hole in ${JSON.stringify(message)}`);
    } catch (error) {
      assert.ok(error instanceof Error && !(error instanceof assert.AssertionError), String(error));
    }
  }
}

/** The result or the error object that a payload at the subject of `in.any` has. */
function answerTo(payload: Buffer): string {
  const value = parseModel(payload.toString());
  if (payload.length > 0 && (value === undefined || value.depth > maxDepth - 1)) {
    return '{"code":-32700,"message":"Parse error"}';
  }
  const params = payload.length === 0 ? '' : `,"params":${payload.toString()}`;
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${procedure}"${params}}`);
  const { reply = '' } = referenceOf(body, placedProcedures);
  return reply.replace(/^\{"jsonrpc":"2\.0","id":(?:1|null),"(?:result|error)":(.*)\}$/s, '$1');
}

/** The names that a member and a gateway have given themselves. */
interface Ids {
  readonly member: string;
  readonly contract: string;
  readonly gateway: string;
}

/** Learns them from the first messages. */
async function idsOn(nats: NatsConnection): Promise<Ids> {
  const first = (subject: string): Promise<Readonly<Record<string, string>>> =>
    new Promise((resolve, reject) => {
      const subscription = nats.subscribe(subject, {
        max: 1,
        callback: (error, { data }) => {
          subscription.unsubscribe();
          if (error !== null) reject(error);
          else resolve(JSON.parse(Buffer.from(data).toString()));
        },
      });
    });
  const [heartbeat, sync] = await Promise.all([first('tandem.hb'), first('tandem.m.*')]);
  const { id: member = '', contract = '' } = heartbeat;
  return { member, contract, gateway: sync.g ?? '' };
}

/**
 * A member and a gateway over a real NATS, which others send garbage to: frames, acknowledgements, syncs, replies, heartbeats. What
 * gateways and clients ask that keep to the protocol has exactly the answers of the reference.
 */
export class NatsFuzzer implements Fuzzer {
  readonly #server: NatsServer;
  readonly #apps: readonly RpcApp[];
  readonly #nats: NatsConnection;
  readonly #ids: Ids;
  readonly #senders: readonly Sender[];
  #gateways = 0;
  #epoch = 0;

  private constructor(server: NatsServer, apps: readonly RpcApp[], nats: NatsConnection, ids: Ids) {
    this.#server = server;
    this.#apps = apps;
    this.#nats = nats;
    this.#ids = ids;
    this.#senders = Array.from({ length: senders }, (_, i) => this.#listen(`hostile${i}`));
  }

  /** Where its session stands is told by the answers to its syncs. */
  #listen(id: string): Sender {
    const sender: Sender = { id, session: 0, next: 1 };
    this.#nats.subscribe(`tandem.g.${id}.${this.#ids.member}`, {
      callback: (_error, { data }) => {
        const [head = ''] = Buffer.from(data).toString().split('\n', 1);
        const { synced, s } = JSON.parse(head) as { readonly synced?: number; readonly s?: number };
        if (synced !== undefined) sender.session = s ?? 0;
      },
    });
    return sender;
  }

  /** Opens the sessions of those who send garbage, so that it is looked at. */
  #syncSenders(): void {
    this.#epoch += 1000;
    for (const { id, session, next } of this.#senders) {
      const sync = { g: id, sync: this.#epoch, s: session, have: 0, next };
      this.#nats.publish(`tandem.m.${this.#ids.member}`, `${JSON.stringify(sync)}\n`);
    }
  }

  static async start(): Promise<NatsFuzzer> {
    const server = await NatsServer.start();
    const nats = await connect({ servers: server.url });
    const ids = idsOn(nats);
    const usual = {
      port: 0,
      workers: 1,
      spareWorkers: 0,
      logLevel: 'silent',
      ...patience,
    } as const;
    const modules = [moduleUrl('test/fixtures/hostile/frames.ts')];
    const servers = server.url;
    const serving = new RpcApp({ ...usual, modules, nats: { servers, role: 'member' } });
    await serving.listen();
    const asking = new RpcApp({ ...usual, nats: { servers, role: 'gateway' } });
    await asking.listen();
    // It does not wait for members: until one has told what it serves, its calls are refused.
    const ask = '{"jsonrpc":"2.0","id":1,"method":"in.any"}';
    while ((await asking.dispatcher.dispatchText(ask))?.includes('-32000') === true) await turns();
    return new NatsFuzzer(server, [serving, asking], nats, await ids);
  }

  async run(parameters: Parameters<Fuzzer['run']>[0]): Promise<void> {
    const property = fc.asyncProperty(natsCase, (one) => this.#check(one));
    await assertProperty(property, parameters);
  }

  async close(): Promise<void> {
    await this.#nats.close();
    for (const app of this.#apps.toReversed()) await app.close();
    await this.#server.close();
  }

  async #check({ moves, garbage, bodies, payloads }: NatsCase): Promise<void> {
    const left = [...garbage];
    this.#syncSenders();
    const sendSome = (): void => {
      for (const one of left.splice(0, 2)) this.#sendGarbage(one);
    };
    const id = `model${++this.#gateways}`;
    const gateway = new ModelGateway(this.#nats, 'tandem', this.#ids.member, id);
    const parts = [
      orHang('the answers to a gateway', gateway.run(moves, sendSome), hangMs),
      ...bodies.flatMap((body) => [this.#askRpc(body), this.#askThrough(body)]),
      ...payloads.map((payload) => this.#askProcedure(Buffer.from(payload))),
    ];
    await Promise.all(parts);
    for (const one of left) this.#sendGarbage(one);
    await this.#askThrough('{"jsonrpc":"2.0","id":1,"method":"out.any"}');
    const { inUse } = (this.#apps[0] as RpcApp).dispatcher.stats().bodies;
    assert.ok(inUse >= 0, `${inUse} bytes of bodies`);
  }

  #sendGarbage(one: Garbage): void {
    const sender = this.#senders[one.text.length % senders] as Sender;
    const bytes = garbageBytes(one, sender);
    assertRead(bytes);
    const subject = {
      member: `tandem.m.${this.#ids.member}`,
      gateway: `tandem.g.${this.#ids.gateway}.${sender.id}`,
      heartbeat: 'tandem.hb',
      document: `tandem.doc.${this.#ids.contract}`,
    }[one.to];
    this.#nats.publish(subject, bytes, { reply: `tandem.answers.${sender.id}` });
  }

  async #askRpc(body: string): Promise<void> {
    const { data } = await this.#nats.request('tandem.rpc', body, { timeout: hangMs });
    const { reply } = referenceOf(Buffer.from(body), placedProcedures);
    assert.equal(withoutHints(settled(Buffer.from(data).toString())), reply ?? '', 'at S.rpc');
  }

  async #askThrough(body: string): Promise<void> {
    const asking = this.#apps[1] as RpcApp;
    const answer = asking.dispatcher.dispatchText(body);
    const reply = await orHang('an answer through the gateway', answer, hangMs);
    const expected = referenceOf(Buffer.from(body), placedProcedures).reply;
    const got = reply === undefined ? undefined : withoutHints(settled(reply));
    assert.equal(got, expected, 'through the gateway');
  }

  async #askProcedure(payload: Buffer): Promise<void> {
    const subject = `tandem.call.${procedure}`;
    const { data } = await this.#nats.request(subject, payload, { timeout: hangMs });
    const reply = withoutHints(settled(Buffer.from(data).toString()));
    assert.equal(reply, answerTo(payload), `at ${subject}`);
  }
}
