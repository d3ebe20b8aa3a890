import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { DeadlineSweep } from '../../src/dispatch/deadline.ts';
import { RequestScope } from '../../src/dispatch/scope.ts';
import { OpenStreams } from '../../src/dispatch/streams/open-streams.ts';
import type { Reply } from '../../src/jsonrpc/reply.ts';
import { Gateway } from '../../src/nats/gateway/gateway.ts';
import { Member } from '../../src/nats/member/member.ts';
import { defaultRetention } from '../../src/nats/member/member-options.ts';
import { describeProcedure } from '../../src/router/document/description.ts';
import { Router, tableOf } from '../../src/router/router.ts';
import { Dispatcher } from '../../src/service/dispatcher.ts';
import { patience } from '../patience.ts';
import { Bus } from './bus/bus.ts';
import { saidBy } from './bus/rig.ts';
import { quietEvents } from './quiet-events.ts';

const longMs = 600_000;

/** A gateway and its members, over a bus. */
class World {
  readonly bus = new Bus();
  readonly gateway: Gateway;
  readonly #t: TestContext;

  constructor(t: TestContext, namesKeptMs: number) {
    this.#t = t;
    const deadlines = new DeadlineSweep();
    const limits = { timeoutMs: longMs, maxStreamMs: 0, maxStreams: 100 };
    this.gateway = new Gateway(
      {
        connection: this.bus.connect(),
        name: 's',
        id: 'gw',
        memberSilentMs: longMs,
        memberHungMs: longMs,
        memberGoneMs: longMs,
        namesKeptMs,
        memberInFlight: 1024,
        memberBytes: 2 ** 23,
        maxReplyBytes: 2 ** 20,
        maxQueue: 1000,
        maxQueueMs: longMs,
        shares: { keyOf: () => '', weightOf: () => 1 },
        choose: ([first]) => first as never,
        streams: new OpenStreams(limits, deadlines, { open: 0 }, undefined),
      },
      undefined,
      quietEvents,
    );
    t.after(async () => {
      await this.gateway.close(0);
      deadlines.close();
    });
  }

  /** A member whose procedures say its id. */
  async join(id: string, procedures: readonly string[]): Promise<Member> {
    const router = new Router();
    for (const name of procedures) router.rpc({ name }, async () => id);
    const service = new Dispatcher({ ...patience, router, logLevel: 'silent', metrics: false });
    await service.ready();
    const document = JSON.stringify([...tableOf(router).values()].map(describeProcedure));
    const member = new Member({
      connection: this.bus.connect(),
      service,
      name: 's',
      id,
      version: '1.0.0',
      started: 0,
      heartbeatMs: longMs,
      silentMs: longMs,
      maxBodyBytes: 2 ** 20,
      trustsAuth: true,
      authenticate: undefined,
      retention: defaultRetention,
      contract: () => ({ id: `c${id}`, document: () => Buffer.from(document) }),
    });
    this.#t.after(async () => {
      member.close();
      await service.close(0);
    });
    await this.untilKnown(...procedures);
    return member;
  }

  get names(): string[] {
    return [...this.gateway.procedures.keys()].sort();
  }

  async untilKnown(...names: readonly string[]): Promise<void> {
    await this.until(() => names.every((name) => this.gateway.procedures.has(name)));
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  }

  async call(name: string): Promise<Reply> {
    const procedure = this.gateway.procedures.get(name);
    assert.ok(procedure !== undefined, `${name} is not known`);
    const scope = new RequestScope({});
    const params = undefined;
    const call = { procedure, id: '1', params, source: undefined, start: -1, end: -1, scope };
    return this.gateway.executor.execute(call);
  }
}

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
