import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockMs } from '../../src/core/base/clock.ts';
import { Router } from '../../src/core/procedures/router.ts';
import type { Procedure } from '../../src/core/procedures/types.ts';
import { Type } from '../../src/core/schema/type.ts';
import {
  Catalog,
  DocumentFetch,
  type KnownContract,
} from '../../src/extras/nats/gateway/contracts.ts';
import { firstStart } from '../../src/extras/nats/session.ts';
import { contractOf, Subjects } from '../../src/extras/nats/subjects.ts';
import { Bus } from './bus/bus.ts';
import { saidBy } from './bus/rig.ts';
import { World } from './bus/world.ts';
import { describedBy, documentOf, longMs } from './parts.ts';

const keptMs = 5000;

/** A contract with procedures of these names. */
function contract(id: string, names: readonly string[], version = '1.0.0'): KnownContract {
  const router = new Router();
  for (const name of names) router.rpc({ name }, () => null);
  return { id, version, started: 0, procedures: describedBy(router) };
}

function namesOf({ procedures }: Catalog): string[] {
  return [...procedures.keys()].sort();
}

describe('the names that a gateway serves', () => {
  const both = contract('c1', ['a', 'b']);
  const one = contract('c2', ['a']);

  test('outlive the last member that has them for a while', () => {
    const catalog = new Catalog(keptMs);
    catalog.update([both, one], [], 0);
    catalog.update([one], [], 1000);
    assert.equal(catalog.expire(5999, 0), false);
    assert.deepEqual(namesOf(catalog), ['a', 'b']);
    assert.equal(catalog.expire(6000, 0), true);
    assert.deepEqual(namesOf(catalog), ['a']);
    assert.equal(catalog.expire(7000, 0), false);
  });

  test('stay where a member with them comes in time, and have their time anew when that goes', () => {
    const catalog = new Catalog(keptMs);
    catalog.update([both, one], [], 0);
    catalog.update([one], [], 1000);
    const again = contract('c1', ['a', 'b']);
    catalog.update([again, one], [], 4000);
    assert.equal(catalog.procedures.get('b'), again.procedures.get('b'));
    assert.equal(catalog.expire(60_000, 0), false);
    catalog.update([one], [], 60_000);
    // What changes meanwhile changes nothing of that.
    catalog.update([one, contract('c3', ['c'])], [], 63_000);
    assert.equal(catalog.expire(64_999, 0), false);
    assert.equal(catalog.expire(65_000, 0), true);
    assert.deepEqual(namesOf(catalog), ['a', 'c']);
  });

  test('stay while their member is silent only', () => {
    const catalog = new Catalog(keptMs);
    catalog.update([both, one], [], 0);
    catalog.update([one], [both], 1000);
    assert.equal(catalog.expire(600_000, 0), false);
    assert.deepEqual(namesOf(catalog), ['a', 'b']);
    // Of what several have, those that are heard describe it.
    assert.equal(catalog.procedures.get('a'), one.procedures.get('a'));
    catalog.update([one], [], 600_000);
    assert.equal(catalog.expire(605_000, 0), true);
    assert.deepEqual(namesOf(catalog), ['a']);
  });

  test('stay while nobody is there, or nobody can be heard', () => {
    const catalog = new Catalog(keptMs);
    catalog.update([both, one], [], 0);
    catalog.update([one], [], 1000);
    catalog.hold();
    assert.equal(catalog.expire(60_000, 0), false);
    catalog.update([one], [], 60_000);
    assert.equal(catalog.expire(65_000, 61_000), false);
    assert.deepEqual(namesOf(catalog), ['a', 'b']);
    assert.equal(catalog.expire(66_000, 61_000), true);
    assert.deepEqual(namesOf(catalog), ['a']);
  });

  test('are those of the newest contract, and each contract is read once, however many members have it', () => {
    let reads = 0;
    class Counted extends Map<string, Procedure> {
      override [Symbol.iterator](): MapIterator<[string, Procedure]> {
        reads++;
        return super[Symbol.iterator]();
      }
    }
    const procedures = new Counted(both.procedures);
    const members = Array.from({ length: 100 }, (_, started) => ({ ...both, started, procedures }));
    const catalog = new Catalog(keptMs);
    const newest = contract('c2', ['a'], '1.10.0');
    catalog.update([...members, newest, contract('c3', ['a'], '1.9.0')], [], 0);
    assert.equal(catalog.procedures.get('a'), newest.procedures.get('a'));
    assert.equal(reads, 1);
  });

  test('are the same map while members come and go that serve the same', () => {
    const catalog = new Catalog(keptMs);
    assert.equal(catalog.update([both], [], 0), true);
    const { procedures } = catalog;
    assert.equal(catalog.update([both, { ...both, started: 1 }], [], 1000), false);
    assert.equal(catalog.update([{ ...both, started: 1 }], [both], 2000), false);
    assert.equal(catalog.procedures, procedures);
    assert.equal(catalog.update([both, one], [], 3000), false, 'the first of equals describes it');
  });
});

describe('the name of a procedure', () => {
  test('stays known when its last member goes, and its calls wait for the next one', async (t) => {
    const world = new World(t, longMs);
    const first = await world.join('m1', ['other', 'rare']);
    await world.join('m2', ['other']);
    assert.equal(saidBy(await world.call('rare')), 'm1');
    const drained = first.drain(0);
    await world.until(() => world.gateway.members === 1);
    assert.deepEqual(world.names, ['other', 'rare']);
    const waiting = world.call('rare');
    await world.until(() => world.gateway.executor.queued === 1);
    assert.equal(saidBy(await world.call('other')), 'm2');
    await drained;
    await world.join('m3', ['rare']);
    assert.equal(saidBy(await waiting), 'm3');
  });

  test('is unknown in the end', async (t) => {
    const world = new World(t, 0);
    const first = await world.join('m1', ['other', 'rare']);
    await world.join('m2', ['other']);
    const changed = new Promise<void>((resolve) => {
      world.gateway.onProcedures = () => {
        if (world.names.length === 1) resolve();
      };
    });
    await first.drain(0);
    await changed;
    assert.deepEqual(world.names, ['other']);
  });
});

const names = Array.from({ length: 20 }, (_, i) => `p${i}`);

function twentyProcedures(): Uint8Array {
  const router = new Router();
  for (const name of names) router.rpc({ name, params: Type.Object({}) }, async () => name);
  return documentOf(router);
}

interface Request {
  readonly subject: string;
  readonly reply?: string;
  readonly data: Uint8Array;
}

/** A fetch over a bus, whose requests are answered when the test says so. */
class Fetching {
  readonly bus = new Bus();
  readonly member = this.bus.connect();
  readonly asked: Request[] = [];
  got: readonly string[] | undefined;
  readonly fetch: DocumentFetch;
  #laterMs = 0;

  constructor(document: Uint8Array) {
    const contract = contractOf(document);
    const subjects = new Subjects('s');
    const link = { connection: this.bus.connect(), subjects, id: 'gw', start: firstStart };
    for (const subject of [`s.doc.${contract}`, `s.doc.${contract}_m1`]) {
      this.member.subscribe(subject, (request) => this.asked.push(request));
    }
    this.fetch = new DocumentFetch(link, contract, {
      hasRoom: () => true,
      onProcedures: (procedures) => {
        this.got = [...procedures.keys()];
      },
    });
    this.fetch.look(clockMs());
  }

  /** As if nothing had come for long. */
  lookLater(): void {
    this.#laterMs += 10_000;
    this.fetch.look(clockMs() + this.#laterMs);
  }

  /** @param member the name that the answer gives */
  answer({ reply = '', data }: Request, document: Uint8Array, member = 'm1'): void {
    const { from } = JSON.parse(Buffer.from(data).toString()) as { from: number };
    const part = document.subarray(from, from + 700);
    const headers = [
      ['Tandem-Total', String(document.byteLength)],
      ['Tandem-Member', member],
    ] as const;
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
    const document = twentyProcedures();
    const fetching = new Fetching(document);
    for (let i = 0; fetching.got === undefined; i++) {
      assert.ok(i < 100, 'the document does not come');
      const request = await fetching.next();
      fetching.lookLater();
      fetching.answer(request, document);
      fetching.answer(request, document);
      await fetching.turn();
    }
    assert.deepEqual(fetching.got, names);
    assert.deepEqual(fetching.bus.failures, []);
  });

  test('an empty part is not asked for again at once', async () => {
    const fetching = new Fetching(twentyProcedures());
    const { reply = '' } = await fetching.next();
    const headers = [
      ['Tandem-Total', '700'],
      ['Tandem-Member', 'm1'],
    ] as const;
    fetching.member.publish(reply, '', { headers });
    for (let i = 0; i < 10; i++) await fetching.turn();
    assert.deepEqual(fetching.asked, []);
    fetching.lookLater();
    assert.equal((await fetching.next()).reply, reply);
  });

  test('one that is no document is fetched anew', async () => {
    const broken = Buffer.from('[{"name":');
    const fetching = new Fetching(broken);
    const request = await fetching.next();
    fetching.answer(request, broken);
    await fetching.turn();
    assert.match(String(fetching.bus.failures[0]), /no document of a contract/);
    fetching.lookLater();
    assert.equal((await fetching.next()).reply, request.reply);
  });

  test('that is not what the name of the contract is a hash of is not used, and fetched anew', async () => {
    const document = twentyProcedures();
    const other = Buffer.from(Buffer.from(document).toString().replaceAll('"p1"', '"q1"'));
    const fetching = new Fetching(document);
    for (let i = 0; fetching.bus.failures.length === 0; i++) {
      assert.ok(i < 100, 'no document is refused');
      fetching.answer(await fetching.next(), other);
      await fetching.turn();
      assert.equal(fetching.got, undefined);
    }
    assert.match(String(fetching.bus.failures[0]), /not the one of the contract/);
    fetching.lookLater();
    for (let i = 0; fetching.got === undefined; i++) {
      assert.ok(i < 100, 'the document does not come');
      fetching.answer(await fetching.next(), document);
      await fetching.turn();
    }
    assert.deepEqual(fetching.got, names);
  });

  test('comes from the member that answers first: parts of others are not taken', async () => {
    const document = twentyProcedures();
    const other = Buffer.alloc(document.byteLength, ' ');
    const contract = contractOf(document);
    const fetching = new Fetching(document);
    const subjects: string[] = [];
    for (let i = 0; fetching.got === undefined; i++) {
      assert.ok(i < 100, 'the document does not come');
      const request = await fetching.next();
      subjects.push(request.subject);
      if (i > 0) fetching.answer(request, other, 'm2');
      fetching.answer(request, document, 'm1');
      await fetching.turn();
    }
    assert.deepEqual(fetching.got, names);
    const [first, ...later] = subjects;
    assert.equal(first, `s.doc.${contract}`);
    assert.deepEqual([...new Set(later)], [`s.doc.${contract}_m1`]);
  });

  test('is asked for from its beginning if the member that gave parts of it has gone, or hangs', async () => {
    const document = twentyProcedures();
    const contract = contractOf(document);
    const fetching = new Fetching(document);
    // Nobody listens at the subject of m2.
    fetching.answer(await fetching.next(), document, 'm2');
    await fetching.turn();
    await fetching.turn();
    assert.deepEqual(fetching.asked, []);
    fetching.lookLater();
    const again = await fetching.next();
    assert.equal(again.subject, `s.doc.${contract}`);
    // m1 hangs after its first part.
    fetching.answer(again, document, 'm1');
    const asked: string[] = [];
    do {
      asked.push((await fetching.next()).subject);
      fetching.lookLater();
    } while (asked.at(-1) !== `s.doc.${contract}`);
    assert.deepEqual(asked.slice(0, -1), Array(5).fill(`s.doc.${contract}_m1`));
  });
});
