import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TransportCase } from '../suite.ts';
import { call } from './answers.ts';

const released = '{"jsonrpc":"2.0","id":1,"result":"released"}';

function codeOf(reply: string | undefined): number {
  return (JSON.parse(reply ?? '') as { readonly error: { readonly code: number } }).error.code;
}

export const ends: readonly TransportCase[] = [
  {
    name: "a request is answered with -32001 when its caller's time is over",
    needs: ['metadata'],
    async run(stage) {
      const connection = await stage.connect();
      await connection.send(call('hold', {}), { timeoutMs: 20 });
      assert.equal(codeOf(await connection.receive()), -32001);
      await stage.held[0]?.aborted;
      await stage.assertSilent(connection);
    },
  },
  {
    name: 'a request is answered with -32001 when the time of the service is over',
    options: { service: { maxRequestMs: 20 } },
    async run(stage) {
      const connection = await stage.connect();
      await connection.send(call('hold', {}));
      assert.equal(codeOf(await connection.receive()), -32001);
    },
  },
  {
    name: 'calls stop when their caller leaves, and those of others go on',
    needs: ['sees-leaving'],
    async run(stage) {
      const [leaving, staying] = [await stage.connect(), await stage.connect()];
      await staying.send(call('hold', {}));
      await stage.entered(1);
      await leaving.send(call('hold', { padding: 'x'.repeat(200_000) }));
      await stage.entered(2);
      leaving.leave();
      await stage.held[1]?.aborted;
      stage.held[0]?.release();
      assert.equal(await staying.receive(), released);
      await stage.assertSilent(staying);
    },
  },
  {
    name: 'a caller that leaves within its message leaves nothing behind',
    needs: ['pieces', 'sees-leaving'],
    async run(stage) {
      const connection = await stage.connect();
      await connection.sendPart(call('echo', { value: 'x'.repeat(200_000) }));
      await nextTurn();
      connection.leave();
      await stage.assertSilent(await stage.connect());
    },
  },
  {
    name: 'close() answers what was accepted, takes nobody new, and ends after that',
    async run(stage) {
      const [one, other] = [await stage.connect(), await stage.connect()];
      for (const connection of [one, other]) await connection.send(call('hold', {}));
      await stage.entered(2);
      let isOver = false;
      const closing = stage.closeServer().then(() => {
        isOver = true;
      });
      for (let i = 0; i < 5; i++) await nextTurn();
      await assert.rejects(stage.connect());
      assert.equal(isOver, false, 'close() ended while calls ran');
      for (const { release } of stage.held) release();
      for (const connection of [one, other]) assert.equal(await connection.receive(), released);
      for (const connection of [one, other]) connection.leave();
      await closing;
    },
  },
  {
    name: 'what still runs when the service ends is answered too',
    async run(stage) {
      const connection = await stage.connect();
      await connection.send(call('hold', {}));
      await stage.entered(1);
      const ended = stage.service.close(0);
      assert.ok([-32002, -32003].includes(codeOf(await connection.receive())));
      await ended;
    },
  },
];
