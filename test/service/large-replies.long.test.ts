import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from '@sinclair/typebox';
import { Router } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { holdForATurn } from './hold-for-a-turn.ts';
import { ok } from './running.ts';

/** Inline replies that are made as bytes: docs/architecture.md, "Decisions". */

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function start(
  t: { after(end: () => Promise<void>): void },
  { piece = 'x', maxReplyBytes = 25 * 1024 ** 2 } = {},
) {
  const router = new Router();
  let runs = 0;
  const params = Type.Object({ length: Type.Integer() });
  router.rpc({ name: 'text', params, placement: 'inline' }, ({ length }) => {
    runs++;
    // Longer than the work of a turn may hold the thread: one such call runs in each.
    if (length > 1) holdForATurn();
    return piece.repeat(length);
  });
  router.rpc({ name: 'later', params, placement: 'inline' }, async ({ length }) => {
    await turn();
    return [piece.repeat(length)];
  });
  router.rpc({ name: 'ping', placement: 'inline' }, () => 'pong');
  const service = TestService.make(t, { router, maxReplyBytes });
  const call = (method: string, length: number, id = '1') =>
    service.ask({ jsonrpc: '2.0', id, method, params: { length } });
  return { service: service.dispatcher, call, runs: () => runs };
}

/** Characters, one byte each at least: more than `largeReply` of src/core/protocol/reply.ts. */
const large = 1.25 * 1024 ** 2;

test('an inline reply of many characters is what a short one would be, in any script', async (t) => {
  for (const piece of ['x', 'é', '€', '😀', '\\"\n', '\ud800']) {
    const { call } = start(t, { piece });
    const value = piece.repeat(large);
    assert.equal(await call('text', large, piece), ok(piece, value), `text of ${piece}`);
    assert.equal(await call('later', large, piece), ok(piece, [value]), `array of ${piece}`);
  }
});

test('of inline calls whose replies are large one runs in a turn of the event loop, and others run between', async (t) => {
  const { service, call, runs } = start(t);
  await call('text', large);
  await turn();
  const count = 10;
  const replies = Array.from({ length: count }, (_, i) => call('text', large, `${i}`));
  // The first may run at once, as part of what came before; twenty turns follow each that was full.
  for (let turns = 0; runs() < 1 + count; turns++) {
    assert.ok(runs() <= 2 + turns / 20, `${runs()} have run after ${turns} turns`);
    assert.equal(await call('ping', 0), ok('1', 'pong'));
    await turn();
  }
  for (const [i, reply] of (await Promise.all(replies)).entries()) {
    assert.equal(reply, ok(`${i}`, 'x'.repeat(large)));
  }
  // Once its replies are small, all its calls run at once.
  await call('text', 1);
  await turn();
  const before = runs();
  const small = Array.from({ length: count }, () => call('text', 1));
  assert.equal(runs(), before + count);
  await Promise.all(small);
  assert.equal(service.stats().inFlight, 0);
});
