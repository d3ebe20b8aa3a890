import assert from 'node:assert/strict';
import type { EventCase } from '../case.ts';
import { rpc } from '../stage.ts';

/** Characters of each value below: two bytes each. */
const size = 2000;
const valueBytes = 2 * size + 100;

/** Two sockets of a loopback hold so much and more: Linux lets their buffers grow to 6 MiB and 4 MiB. */
const kernelBytes = 16 * 1024 * 1024;

/** Readers that are slow, or do not read. */
export const readers: readonly EventCase[] = [
  {
    name: 'a client that does not read stops the generator, and gets every value when it reads again',
    async run(stage) {
      const count = Math.ceil((1.25 * kernelBytes) / valueBytes);
      const client = stage.client();
      client.send(rpc('texts', { size, count }));
      await client.event();
      client.socket.pause();
      const given = await stage.stalled();
      assert.ok(given * valueBytes < kernelBytes, `${given} values of ${count}`);
      const { waiting } = stage.service.replyMemory.stats();
      assert.ok(waiting > 0 && waiting < 4 * 64 * 1024, `${waiting} bytes wait`);
      // Others are served meanwhile.
      const other = stage.client();
      other.send(rpc('count', { to: 100 }));
      assert.equal((await other.events()).length, 101);
      client.socket.resume();
      const events = await client.events();
      assert.equal(events.length, count);
      events.slice(0, -1).forEach(({ params }, i) => {
        assert.ok(String(params?.result).startsWith(`${i + 1} `));
      });
    },
  },
  {
    name: 'a client that reads nothing for bodyTimeoutMs is cut, and its generator ends',
    http: { bodyTimeoutMs: 300 },
    async run(stage) {
      const client = stage.client();
      client.send(rpc('texts', { size, count: 1e9 }));
      await client.event();
      client.socket.pause();
      await stage.untilClosed();
      client.socket.resume();
      await client.untilClosed();
      assert.equal(client.isOver, false);
    },
  },
  {
    name: 'a client that reads slowly is not cut',
    http: { bodyTimeoutMs: 4000 },
    async run(stage) {
      const count = Math.ceil(kernelBytes / 4 / valueBytes);
      const client = stage.client();
      client.send(rpc('texts', { size, count }));
      let reads = 0;
      client.socket.on('data', () => {
        if (++reads % 16 !== 0) return;
        client.socket.pause();
        setTimeout(() => client.socket.resume(), 5);
      });
      assert.equal((await client.events()).length, count + 1);
    },
  },
  {
    name: 'the slowest of clients that do not read is cut where their memory has a limit',
    options: { maxReplyMemory: 300_000, maxReplyBytes: 100_000 },
    async run(stage) {
      const clients = Array.from({ length: 8 }, () => stage.client());
      for (const client of clients) {
        client.send(rpc('texts', { size: 20_000, count: 1e9 }));
        // Behind those that are paused already it may be the slowest itself, on a busy machine before it has read anything.
        await client.event().catch((error: unknown) => {
          if (!client.closed) throw error;
        });
        client.socket.pause();
      }
      await stage.untilClosed();
      await stage.stalled();
      const { waiting, cut } = stage.service.replyMemory.stats();
      assert.ok(waiting <= 300_000 && cut > 0, `${waiting} bytes wait, ${cut} were cut`);
    },
  },
];
