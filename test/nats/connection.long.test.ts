import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitGivenLog } from '../../src/core/observe/log.ts';
import { connectNats } from '../../src/extras/nats/connection/connect.ts';
import type { NatsConnection, NatsMessage } from '../../src/extras/nats/connection/connection.ts';
import { natsLog } from '../../src/extras/nats/transport.ts';
import { recorder } from '../harness.ts';
import { connected, natsOptions, untilState } from './connected.ts';
import { describeNats, NatsServer } from './server.ts';

const textOf = ({ data }: NatsMessage): string => Buffer.from(data).toString();

/** Subscribes, and resolves with the first message. */
function next(connection: NatsConnection, subject: string): Promise<NatsMessage> {
  return new Promise((resolve) => {
    const subscription = connection.subscribe(subject, (message) => {
      subscription.unsubscribe();
      resolve(message);
    });
  });
}

describeNats('a connection to NATS', () => {
  test('goes on behind a callback that throws', async (t) => {
    const server = await NatsServer.startFor(t);
    const { connection, events } = await connected(t, server.url);
    const taken: string[] = [];
    connection.subscribe('x', (message) => {
      taken.push(textOf(message));
      throw new Error(`not ${textOf(message)}`);
    });
    connection.publish('x', '1');
    connection.publish('x', '2');
    await connection.flush();
    assert.deepEqual(taken, ['1', '2']);
    assert.deepEqual(events.told, ['failed x: Error: not 1', 'failed x: Error: not 2']);
  });

  test('sends nothing that is larger than the server takes', async (t) => {
    const server = await NatsServer.startFor(t, { config: 'max_payload: 8192' });
    const { connection } = await connected(t, server.url);
    assert.equal(connection.maxPayload, 8192);
    const got = next(connection, 'x');
    assert.equal(connection.publish('x', 'x'.repeat(8193)), false);
    assert.equal(connection.publish('x', 'x'.repeat(8188), { headers: [['a', 'b']] }), false);
    assert.equal(connection.publish('x', 'x'.repeat(8192)), true);
    assert.equal((await got).data.length, 8192);
  });

  test('refuses subjects that would cost it the connection', async (t) => {
    const server = await NatsServer.startFor(t);
    const { connection } = await connected(t, server.url);
    for (const subject of ['', 'a..b', '.a', 'a.', 'a b', 'a\r\nPUB x 0']) {
      assert.throws(() => connection.subscribe(subject, () => {}), /no subject of NATS/);
      if (/^$|\s/.test(subject)) assert.equal(connection.publish(subject, ''), false);
      else connection.publish(subject, '');
    }
    await connection.flush();
    assert.equal(connection.reconnects, 0);
  });

  for (const way of ['kill', 'stop'] as const) {
    test(`says when the server is gone, sends nothing then, and comes back: ${way}`, async (t) => {
      const server = await NatsServer.startFor(t);
      const { connection, events } = await connected(t, server.url);
      const taken: string[] = [];
      connection.subscribe('x', (message) => taken.push(textOf(message)));
      await connection.flush();
      const lost = untilState(connection, 'disconnected');
      await server[way]();
      await lost;
      assert.equal(connection.connected, false);
      assert.equal(connection.publish('x', 'lost'), false);
      await assert.rejects(connection.flush(), /lost/);
      const back = untilState(connection, 'reconnected');
      await server.restart();
      await back;
      assert.equal(connection.connected, true);
      assert.equal(connection.reconnects, 1);
      assert.equal(connection.publish('x', 'there'), true);
      await connection.flush();
      assert.deepEqual(taken, ['there']);
      assert.deepEqual(events.told, ['disconnected', 'reconnected']);
    });
  }

  test('is told of in the log', async (t) => {
    const server = await NatsServer.startFor(t);
    const { log, lines } = recorder();
    const connection = await connectNats(natsOptions(server.url), natsLog(limitGivenLog(log)));
    t.after(() => connection.close());
    connection.subscribe('x', () => {
      throw new Error('a fault');
    });
    connection.publish('x', '');
    await connection.flush();
    const lost = untilState(connection, 'disconnected');
    await server.kill();
    await lost;
    const back = untilState(connection, 'reconnected');
    await server.restart();
    await back;
    assert.deepEqual(
      lines.map(({ level, fields }) => [level, fields.event, fields.subject]),
      [
        ['error', 'nats-fault', 'x'],
        ['warn', 'nats-disconnected', undefined],
        ['info', 'nats-reconnected', undefined],
      ],
    );
    assert.match(String(lines[0]?.fields.detail), /a fault/);
    natsLog(limitGivenLog(log)).denied('publish', 'secret');
    assert.match(String(lines.at(-1)?.message), /not let this process publish to secret/);
  });

  test('closes and drains without a server, too', async (t) => {
    const server = await NatsServer.startFor(t);
    const { connection } = await connected(t, server.url);
    const subscription = connection.subscribe('x', () => {});
    await connection.flush();
    const lost = untilState(connection, 'disconnected');
    await server.kill();
    await lost;
    await subscription.drain();
    const closed = untilState(connection, 'closed');
    await connection.close();
    await closed;
    assert.equal(connection.publish('x', ''), false);
    await assert.rejects(connection.flush());
    await connection.close();
  });

  test('sends what was published before it closes', async (t) => {
    const server = await NatsServer.startFor(t);
    const { connection } = await connected(t, server.url);
    const { connection: other } = await connected(t, server.url);
    const taken: string[] = [];
    other.subscribe('x', (message) => taken.push(textOf(message)));
    await other.flush();
    for (let i = 0; i < 100; i++) connection.publish('x', 'y'.repeat(10_000));
    await connection.close();
    await other.flush();
    assert.equal(taken.length, 100);
  });
});
