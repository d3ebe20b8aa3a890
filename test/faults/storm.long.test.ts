import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { before, describe, test } from 'node:test';
import type { RpcApp } from '../../src/index.ts';
import { startApp, suiteLifetime } from '../harness.ts';
import { servers } from '../servers.ts';
import { until } from '../turns.ts';
import {
  begun,
  board,
  fixture,
  gate,
  type Plan,
  plan,
  plans,
  readAnswer,
  runsOf,
  toRequest,
} from './plans.ts';

/** A client of its own: connects, and sends one request. */
async function post(
  port: number,
  request: Plan | readonly Plan[],
  timeoutMs?: number,
): Promise<Socket> {
  const payload = Array.isArray(request)
    ? (request as readonly Plan[]).map(toRequest)
    : toRequest(request as Plan);
  const body = JSON.stringify(payload);
  const lines = [
    'POST /rpc HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(timeoutMs === undefined ? [] : [`rpc-timeout-ms: ${timeoutMs}`]),
  ];
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}); // it is we who break the connection
  await once(socket, 'connect');
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

/** The body of the one answer that comes. */
async function receive(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) {
    text += chunk;
    const head = text.indexOf('\r\n\r\n');
    const length = /content-length: (\d+)/i.exec(text);
    if (head === -1 || length === null) continue;
    const body = text.slice(head + 4);
    if (Buffer.byteLength(body) >= Number(length[1])) return body;
  }
  throw new Error(`the connection ended: ${text}`);
}

const wave = 50;

for (const transport of servers) {
  describe(`clients that connect, call and abort, over ${transport}`, () => {
    const lifetime = suiteLifetime();
    const modules = [fixture('procedures.ts')];
    let app: RpcApp;
    let port = 0;
    let threads: number[] = [];
    const pool = () => app.dispatcher.stats().pool!;
    const threadsOf = (): number[] => pool().workers.map(({ threadId }) => threadId);

    before(async () => {
      ({ app, port } = await startApp(lifetime, { modules, workers: 2, transport }));
      threads = threadsOf();
    });

    /** Sends calls, each from a client of its own, and breaks all connections when `reached` holds. */
    async function abort(some: readonly Plan[], reached: () => boolean): Promise<void> {
      const sockets = await Promise.all(some.map((one) => post(port, one)));
      await until(reached);
      for (const socket of sockets) socket.destroy();
    }

    for (const [method, where, clients] of [
      ['long', 'in workers', 500],
      ['in.long', 'inline', 200],
    ] as const) {
      test(`${clients} calls that run ${where}: each one's signal aborts, no thread is replaced`, async () => {
        for (let sent = 0; sent < clients; sent += wave) {
          const some = plans(wave, 'wait', { method, gate: gate() });
          await abort(some, () => runsOf(some).every((runs) => runs === 1));
          await until(() => some.every(({ params }) => board.marks(params.n) === 1));
        }
        assert.deepEqual([pool().kills, pool().deaths, threadsOf()], [0, 0, threads]);
      });
    }

    test('300 calls that wait for a worker are dropped: none of them runs, no thread is replaced', async () => {
      const held = plans(2, 'hold', { method: 'heavy', gate: gate() });
      const holding = await Promise.all(held.map((one) => post(port, one)));
      for (const one of held) await begun(one);
      const all: Plan[] = [];
      for (let sent = 0; sent < 300; sent += wave) {
        const some = [...plans(wave - 5), ...plans(5, 'echo', { method: 'one' })];
        all.push(...some);
        await abort(some, () => pool().queued === wave);
        await until(() => pool().queued === 0);
      }
      board.open(held[0]!.params.gate);
      for (const [i, one] of held.entries()) {
        const [ended] = readAnswer(one, await receive(holding[i]!));
        assert.equal(ended?.outcome, 'ok');
        holding[i]!.destroy();
      }
      assert.deepEqual(new Set(runsOf(all)), new Set([0]));
      assert.deepEqual([pool().kills, pool().deaths, threadsOf()], [0, 0, threads]);
    });

    test('an aborted call in a loop costs one thread, at its deadline', async () => {
      const some = plans(4, 'loop');
      const others = plans(100);
      // Two at a time. Where this process is held up meanwhile, the others have begun as well.
      await abort(some, () => runsOf(some).filter((runs) => runs === 1).length >= 2);
      await abort(others, () => true);
      await until(() => pool().workers.length === 2 && pool().kills >= 2);
      await until(() => app.dispatcher.stats().inFlight === 0);
      // Each that ran was ended at its deadline, and nothing else was.
      assert.equal(
        pool().kills,
        runsOf(some).reduce((sum, runs) => sum + runs, 0),
      );
      const next = plan();
      const socket = await post(port, next);
      assert.equal(readAnswer(next, await receive(socket))[0]?.outcome, 'ok');
      socket.destroy();
    });
  });
}
