import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseHeartbeat } from '../../src/extras/nats/liveness.ts';
import { defaultRetention, type Retention } from '../../src/extras/nats/member/remote-gateway.ts';
import { Dispatcher, Router, Type } from '../../src/index.ts';
import type { StartedApp } from '../harness.ts';
import { patience } from '../patience.ts';
import { until } from '../turns.ts';
import { call, gateway, untilReady } from './apps.ts';
import { connected } from './connected.ts';
import { CutLine } from './cut-line.ts';
import { documentOf, memberOf } from './parts.ts';
import { describeNats, NatsServer } from './server.ts';

/** What a test may change while the member runs. */
type Patience = { -readonly [Name in keyof Retention]: Retention[Name] };

/** A member whose calls wait until the test lets them go, and a gateway whose way to NATS can be cut. */
class Parted {
  readonly line: CutLine;
  readonly front: StartedApp;
  readonly retention: Patience;
  /** Gateways that the member knows, as it told last. */
  gateways = 0;
  beats = 0;
  /** Texts of the calls that ran, and what lets each go. */
  readonly held: readonly (readonly [string, () => void])[];

  private constructor(
    line: CutLine,
    front: StartedApp,
    retention: Patience,
    held: readonly (readonly [string, () => void])[],
  ) {
    this.line = line;
    this.front = front;
    this.retention = retention;
    this.held = held;
  }

  static async start(t: TestContext, bytes: number = defaultRetention.bytes): Promise<Parted> {
    const server = await NatsServer.startFor(t);
    const line = await CutLine.lay(t, server.port);
    const front = await gateway(t, line.url);
    const held: [string, () => void][] = [];
    const router = new Router();
    const params = Type.Object({ text: Type.String() });
    router.rpc({ name: 'hold', params, placement: 'inline' }, async ({ text }) => {
      await new Promise<void>((resolve) => held.push([text, resolve]));
      return text.repeat(100);
    });
    // Nobody is given up before the test says so.
    const retention: Patience = { goneMs: 600_000, forgottenMs: 600_000, bytes };
    const { connection } = await connected(t, server.url);
    const parted = new Parted(line, front, retention, held);
    connection.subscribe('tandem.hb', ({ data }) => {
      parted.gateways = parseHeartbeat(data).gateways;
      parted.beats++;
    });
    const service = new Dispatcher({ ...patience, router, logLevel: 'silent' });
    t.after(() => service.close(0));
    await service.ready();
    const member = memberOf(connection, service, connection.nuid(), documentOf(router), {
      name: 'tandem',
      heartbeatMs: 50,
      retention,
    });
    t.after(() => member.close());
    await untilReady(front.url);
    return parted;
  }

  /** Calls, and cuts the way when all of them run. */
  async callAndCut(count: number): Promise<readonly ReturnType<typeof call>[]> {
    const calls = Array.from({ length: count }, (_, i) =>
      call(this.front.url, 'hold', { text: `text ${i} ` }),
    );
    await until(() => this.held.length === count);
    this.line.cut();
    await untilReady(this.front.url, 'disconnected');
    return calls;
  }
}

interface Lost {
  readonly error?: { readonly code: number; readonly data?: unknown };
}

function assertLost({ error }: Lost): void {
  assert.equal(error?.code, -32002);
  assert.equal((error.data as { reason: string }).reason, 'connection');
}

describeNats('replies that wait for a gateway', () => {
  test('are kept while it is cut off, and come when it is back', async (t) => {
    const parted = await Parted.start(t);
    const calls = await parted.callAndCut(5);
    for (const [, release] of parted.held) release();
    parted.line.mend();
    for (const [i, { result }] of (await Promise.all(calls)).entries()) {
      assert.equal(result, `text ${i} `.repeat(100));
    }
    assert.equal(parted.front.app.dispatcher.stats().remote?.lost, 0);
  });

  test('are dropped after a time: its calls are -32002, and new ones go on', async (t) => {
    const parted = await Parted.start(t);
    const calls = await parted.callAndCut(5);
    for (const [, release] of parted.held) release();
    parted.retention.goneMs = 0;
    parted.retention.forgottenMs = 0;
    await until(() => parted.gateways === 0);
    Object.assign(parted.retention, { goneMs: 600_000, forgottenMs: 600_000 });
    parted.line.mend();
    for (const answer of await Promise.all(calls)) assertLost(answer);
    assert.equal(parted.front.app.dispatcher.stats().remote?.lost, 5);
    const next = call(parted.front.url, 'hold', { text: 'next' });
    await until(() => parted.held.length === 6);
    parted.held[5]?.[1]();
    assert.equal((await next).result, 'next'.repeat(100));
  });

  test('are given up beyond a number of bytes once it is out of reach, the oldest first', async (t) => {
    const [count, bytes] = [20, 4000];
    const parted = await Parted.start(t, bytes);
    const calls = await parted.callAndCut(count);
    for (const [, release] of parted.held) {
      release();
      // A message for each: those of one turn share one.
      for (let i = 0; i < 5; i++) await nextTurn();
    }
    parted.retention.goneMs = 0;
    const { beats } = parted;
    // The server is asked at a heartbeat, and its answer comes before the second heartbeat after that.
    await until(() => parted.beats > beats + 3);
    parted.line.mend();
    const answers = await Promise.all(calls);
    const kept = answers.filter(({ error }) => error === undefined);
    for (const answer of answers) if (answer.error !== undefined) assertLost(answer);
    // In the order in which they ended, whichever that was.
    const order = parted.held.map(([text]) => text.repeat(100));
    assert.deepEqual(
      new Set(kept.map(({ result }) => result)),
      new Set(order.slice(count - kept.length)),
    );
    assert.ok(kept.length <= bytes / 700, `${kept.length} of ${count} kept`);
    assert.equal(parted.front.app.dispatcher.stats().remote?.lost, count - kept.length);
  });
});
