import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { createClient } from '../../src/client/index.ts';
import { Router, RpcError, Type } from '../../src/index.ts';
import type { StartedApp } from '../harness.ts';
import { Journal } from '../service/journal.ts';
import { fixture } from '../service/running.ts';
import { until } from '../turns.ts';
import { call, gateway, member, serve, untilReady } from './apps.ts';
import { describeNats, NatsServer } from './server.ts';

interface Who {
  readonly name: string;
  readonly text: string;
}

describeNats('two gateways before the same members', () => {
  let server: NatsServer;
  before(async () => {
    server = await NatsServer.start();
  });
  after(() => server.close());

  test('each gets its own answers, from all members', async (t) => {
    const names = ['m0', 'm1'];
    await Promise.all(names.map((name) => member(t, server.url, { name })));
    const fronts = await Promise.all(names.map(() => gateway(t, server.url)));
    for (const { app } of fronts) await until(() => app.dispatcher.stats().remote?.members === 2);
    const callers = fronts.flatMap(({ url }, front) =>
      Array.from({ length: 8 }, async (_, caller) => {
        const ran: string[] = [];
        for (let i = 0; i < 25; i++) {
          const text = `gateway ${front}, caller ${caller}, call ${i}`;
          const answer = (await call(url, 'who', { text })).result as Who;
          assert.equal(answer.text, text);
          ran.push(answer.name);
        }
        return ran;
      }),
    );
    const ran = (await Promise.all(callers)).flat();
    assert.deepEqual([...new Set(ran)].sort(), names);
    for (const { app } of fronts) {
      assert.equal(app.dispatcher.stats().remote?.lost, 0);
    }
  });

  test('a handler that throws -32000, -32002 or -32003 with retry: true runs once, on one member', async (t) => {
    const runs: number[] = [];
    const router = new Router();
    router.rpc({ name: 'refuse', params: { code: Type.Integer() } }, async ({ code }) => {
      runs.push(code);
      throw new RpcError(code, 'refused', { reason: 'queue', retry: true });
    });
    const nats = { servers: server.url, role: 'member' as const };
    await Promise.all([1, 2].map(() => serve(t, { router, nats })));
    const { app, url } = await gateway(t, server.url);
    await until(() => app.dispatcher.stats().remote?.members === 2);
    const codes = [-32000, -32002, -32003];
    for (const code of codes) {
      const told = { code, data: { reason: 'queue' } };
      await assert.rejects(createClient({ url }).call('refuse', { code }), told);
    }
    assert.deepEqual(runs, codes);
  });

  test('a caller has one share of a member, whichever gateways it calls', async (t) => {
    const cluster = await SharedMember.start(t, server.url);
    const [one, other] = cluster.fronts;
    const held = cluster.call(one, 'holder', 'held', 'hold');
    await until(() => cluster.journal.lines().some((line) => line.startsWith('held begins')));
    const greedy = [one, other].map((front) => cluster.crowd(front, 'greedy', 40));
    await until(() => cluster.inFlight === 81);
    const sentBefore = 80 - cluster.queued;
    const polite = cluster.crowd(other, 'polite', 20);
    await until(() => cluster.inFlight === 101);
    cluster.journal.release();
    await Promise.all([held, ...greedy.flat(), ...polite]);
    const ran = cluster.journal.lines().filter((line) => !line.includes(' '));
    assert.equal(ran.length, 100);
    const last = ran.findLastIndex((text) => text.startsWith('polite'));
    const greedyBefore = ran.slice(0, last).filter((text) => text.startsWith('greedy')).length;
    // Twice the share would let some forty go before.
    assert.ok(greedyBefore <= sentBefore + 30, `${greedyBefore} before: ${ran.join(' ')}`);
  });
});

/** A member with one worker that calls hold until the test lets them go, and two gateways that know who calls. */
class SharedMember {
  readonly journal = new Journal();
  readonly #member: StartedApp;
  readonly fronts: readonly [StartedApp, StartedApp];

  private constructor(one: StartedApp, fronts: readonly [StartedApp, StartedApp]) {
    this.#member = one;
    this.fronts = fronts;
  }

  static async start(t: TestContext, servers: string): Promise<SharedMember> {
    const long = { timeoutMs: 600_000, maxRequestMs: 600_000 };
    const one = await serve(t, {
      modules: [fixture('procedures.ts'), fixture('costly.ts')],
      workers: 1,
      spareWorkers: 0,
      niceIncrement: 0,
      natsTrustAuth: true,
      nats: { servers, role: 'member', service: 'shared' },
      ...long,
    });
    const front = (): Promise<StartedApp> =>
      serve(t, {
        nats: { servers, role: 'gateway', service: 'shared' },
        authenticate: ({ headers }) => ({ sub: headers.authorization ?? '' }),
        ...long,
      });
    const cluster = new SharedMember(one, await Promise.all([front(), front()]));
    t.after(() => {
      cluster.journal.release();
      cluster.journal.remove();
    });
    for (const { url } of cluster.fronts) await untilReady(url);
    // The member knows what they cost.
    for (let i = 0; i < 10; i++) await cluster.call(cluster.fronts[0], 'warm', 'warm');
    cluster.journal.clear();
    return cluster;
  }

  /** Calls that its member has. */
  get inFlight(): number {
    return this.#member.app.dispatcher.stats().inFlight;
  }

  /** Calls that wait for its worker. */
  get queued(): number {
    return this.#member.app.dispatcher.stats().pool?.queued ?? 0;
  }

  async call(front: StartedApp, caller: string, text: string, method = 'costly'): Promise<void> {
    const params = { file: this.journal.file, text };
    const { error } = await call(front.url, method, params, { authorization: caller });
    assert.equal(error, undefined);
  }

  crowd(front: StartedApp, caller: string, count: number): Promise<void>[] {
    return Array.from({ length: count }, (_, i) => this.call(front, caller, `${caller}${i}`));
  }
}
