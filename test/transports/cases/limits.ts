import assert from 'node:assert/strict';
import type { TransportCase } from '../suite.ts';
import { call } from './answers.ts';

interface Failed {
  readonly id: unknown;
  readonly error: { readonly code: number; readonly data?: unknown };
}

function errorOf(reply: string | undefined): Failed {
  return JSON.parse(reply ?? '') as Failed;
}

const maxMessageBytes = 100_000;

export const limits: readonly TransportCase[] = [
  {
    name: 'a message over the limit is refused with -32004, and others are served on',
    needs: ['reads-on'],
    options: { maxMessageBytes },
    async run(stage) {
      for (const excess of [1, 50_000]) {
        const connection = await stage.connect();
        const spare = call('echo', { value: '' }).length;
        const value = 'x'.repeat(maxMessageBytes - spare + excess);
        const { id, error } = errorOf(await stage.ask(connection, call('echo', { value })));
        assert.deepEqual([id, error.code], [null, -32004]);
        assert.deepEqual(error.data, { limit: maxMessageBytes });
        const fits = value.slice(0, maxMessageBytes - spare);
        const reply = (await stage.ask(connection, call('echo', { value: fits }))) ?? '';
        assert.equal(reply.length, '{"jsonrpc":"2.0","id":1,"result":""}'.length + fits.length);
      }
    },
  },
  {
    name: 'a message that there is no memory for is refused with -32000, and counted',
    needs: ['counts-bodies'],
    async run(stage) {
      const { bodyMemory } = stage.service;
      const taken = bodyMemory.limit - 10;
      assert.ok(bodyMemory.take(taken));
      const connection = await stage.connect();
      await connection.send(call('free', {}));
      const { id, error } = errorOf(await connection.receive());
      assert.deepEqual([id, error.code, bodyMemory.stats().refused], [null, -32000, 1]);
      bodyMemory.give(taken);
      await stage.assertSilent(await stage.connect());
    },
  },
  {
    name: 'memory for bodies is given back when they are answered, and not before',
    needs: ['counts-bodies'],
    async run(stage) {
      const { bodyMemory } = stage.service;
      const connection = await stage.connect();
      for (const padding of ['', 'x'.repeat(200_000)]) {
        const { length } = stage.held;
        const message = call('hold', { padding });
        await connection.send(message);
        await stage.entered(length + 1);
        assert.ok(bodyMemory.stats().inUse >= message.length);
        stage.held[length]?.release();
        await connection.receive();
        await stage.assertSilent(connection);
        assert.equal(bodyMemory.stats().inUse, 0);
      }
    },
  },
  {
    name: 'a refusal of the service has the id of its request',
    options: { service: { maxInFlight: 1 } },
    async run(stage) {
      const [busy, other] = [await stage.connect(), await stage.connect()];
      await busy.send(call('hold', {}, 'held'));
      await stage.entered(1);
      await other.send(call('free', {}, 'other'));
      const { id, error } = errorOf(await other.receive());
      assert.deepEqual([id, error.code], ['other', -32000]);
      stage.held[0]?.release();
      assert.equal(await busy.receive(), '{"jsonrpc":"2.0","id":"held","result":"released"}');
      await stage.assertSilent(other);
    },
  },
];
