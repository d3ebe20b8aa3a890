import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockMs } from '../../src/base/clock.ts';
import { DocumentFetch } from '../../src/nats/gateway/document-fetch.ts';
import { documentPart } from '../../src/nats/member/document-part.ts';
import { describeProcedure } from '../../src/router/document/description.ts';
import { Router, tableOf } from '../../src/router/router.ts';
import { Type } from '../../src/router/schema/type.ts';
import { Bus } from './bus/bus.ts';

const names = Array.from({ length: 20 }, (_, i) => `p${i}`);

function documentOf(): Uint8Array {
  const router = new Router();
  for (const name of names) router.rpc({ name, params: Type.Object({}) }, async () => name);
  return Buffer.from(JSON.stringify([...tableOf(router).values()].map(describeProcedure)));
}

interface Request {
  readonly reply: string;
  readonly data: Uint8Array;
}

/** A fetch over a bus, whose requests are answered when the test says so. */
class World {
  readonly bus = new Bus();
  readonly member = this.bus.connect();
  readonly asked: Request[] = [];
  got: readonly string[] | undefined;
  readonly fetch: DocumentFetch;

  constructor() {
    this.member.subscribe('s.doc.c', (request) => this.asked.push(request));
    this.fetch = new DocumentFetch(this.bus.connect(), 's.doc.c', (procedures) => {
      this.got = [...procedures.keys()];
    });
    this.fetch.look(clockMs());
  }

  /** As if nothing had come for long. */
  lookLater(): void {
    this.fetch.look(clockMs() + 10_000);
  }

  answer({ reply, data }: Request, document: Uint8Array): void {
    const part = documentPart(document, data, 700);
    const headers = [['Tandem-Total', String(document.byteLength)]] as const;
    this.member.publish(reply, part, { headers });
  }

  async next(): Promise<Request> {
    for (let i = 0; this.asked.length === 0; i++) {
      assert.ok(i < 100, 'nothing is asked for');
      await this.turn();
    }
    return this.asked.shift() as Request;
  }

  async turn(): Promise<void> {
    await this.bus.connect().flush();
  }
}

describe('the document of a contract', () => {
  test('a part that was asked for twice counts once', async () => {
    const world = new World();
    const document = documentOf();
    for (let i = 0; world.got === undefined; i++) {
      assert.ok(i < 100, 'the document does not come');
      const request = await world.next();
      world.lookLater();
      world.answer(request, document);
      world.answer(request, document);
      await world.turn();
    }
    assert.deepEqual(world.got, names);
    assert.deepEqual(world.bus.failures, []);
  });

  test('an empty part is not asked for again at once', async () => {
    const world = new World();
    const { reply } = await world.next();
    world.member.publish(reply, '', { headers: [['Tandem-Total', '700']] });
    for (let i = 0; i < 10; i++) await world.turn();
    assert.deepEqual(world.asked, []);
    world.lookLater();
    assert.equal((await world.next()).reply, reply);
  });

  test('one that is no document is fetched anew', async () => {
    const world = new World();
    const document = documentOf();
    const broken = Buffer.from('[{"name":');
    world.answer(await world.next(), broken);
    await world.turn();
    assert.equal(world.bus.failures.length, 1);
    world.lookLater();
    for (let i = 0; world.got === undefined; i++) {
      assert.ok(i < 100, 'the document does not come');
      world.answer(await world.next(), document);
      await world.turn();
    }
    assert.deepEqual(world.got, names);
  });
});
