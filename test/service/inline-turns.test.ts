import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from '@sinclair/typebox';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { Router, RpcError } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { answerOf } from '../replies.ts';
import { turn, until } from '../turns.ts';
import { holdForATurn } from './hold-for-a-turn.ts';

/** Inline calls with large params share the main thread: src/core/dispatch/inline-turns.ts. */

type Cleanup = { after(end: () => Promise<void>): void };

async function start(t: Cleanup) {
  const router = new Router();
  const ran: string[] = [];
  const params = Type.Object({ tag: Type.String(), pad: Type.Optional(Type.String()) });
  router.rpc({ name: 'hold', params, placement: 'inline' }, ({ tag }) => {
    ran.push(tag);
    if (tag !== 'small') holdForATurn();
    return tag;
  });
  const { dispatcher } = await TestService.start(t, { router });
  const bodyOf = (tag: string, size: number) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: tag,
      method: 'hold',
      params: { tag, pad: 'x'.repeat(size) },
    });
  const send = (tag: string, remoteAddress: string, { size = 10_000, timeoutMs = 60_000 } = {}) => {
    const scope = new RequestScope({ remoteAddress, timeoutMs });
    const body = bodyOf(tag, size);
    return { scope, reply: answerOf(dispatcher, body, scope).then(String) };
  };
  return { dispatcher, ran, bodyOf, send };
}

const ok = (tag: string) => `{"jsonrpc":"2.0","id":"${tag}","result":"${tag}"}`;

for (const [what, size] of [
  ['of 10 KB', 10_000],
  ['of 100 KB', 100_000],
] as const) {
  test(`a small inline call does not wait for others with params ${what}`, async (t) => {
    const { ran, send } = await start(t);
    const tags = ['1', '2', '3', '4', '5'];
    const large = tags.map((tag) => send(tag, '10.0.0.1', { size }));
    const small = send('small', '10.0.0.2', { size: 1 });
    assert.deepEqual(ran, ['1', 'small']);
    assert.equal(await small.reply, ok('small'));
    assert.deepEqual(await Promise.all(large.map(({ reply }) => reply)), tags.map(ok));
    assert.deepEqual(ran, ['1', 'small', '2', '3', '4', '5']);
  });
}

test('turns of the event loop without large inline calls follow a full one, so that node:http accepts connections', async (t) => {
  const { ran, send } = await start(t);
  const sent = ['1', '2', '3'].map((tag) => send(tag, '10.0.0.1'));
  for (let turns = 1; turns <= 40; turns++) {
    await turn();
    assert.ok(ran.length <= 1 + turns / 20, `${ran.length} after ${turns} turns`);
  }
  await Promise.all(sent.map(({ reply }) => reply));
});

test('callers of inline procedures with large params take turns', async (t) => {
  const { ran, send } = await start(t);
  const greedy = Array.from({ length: 6 }, (_, i) => send(`greedy ${i}`, '10.0.0.1'));
  const polite = send('polite', '10.0.0.2');
  await polite.reply;
  assert.ok(ran.length <= 3, ran.join());
  await Promise.all(greedy.map(({ reply }) => reply));
});

for (const [of, before] of [
  ['a procedure that gave one before', ['now']],
  ['a procedure that gave one, then failed', ['now', 'fails']],
  ['a procedure whose results nobody knows yet', []],
] as const) {
  test(`large results of inline calls that end at the same time are written in turns: of ${of}`, async (t) => {
    const router = new Router();
    let started = 0;
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const text = 'x'.repeat(1_200_000);
    const written = new Set<object>();
    const large = () => ({
      get text(): string {
        written.add(this);
        return text;
      },
    });
    const params = Type.Object({ how: Type.String() });
    router.rpc({ name: 'large', params, placement: 'inline' }, async ({ how }) => {
      if (how === 'fails') throw new RpcError(1001, 'refused');
      if (how === 'waits') {
        started++;
        await released;
      }
      return large();
    });
    const { dispatcher } = await TestService.start(t, { router });
    const send = (how: string) =>
      dispatcher.dispatch({ jsonrpc: '2.0', id: 1, method: 'large', params: { how } });
    for (const how of before) await send(how);
    written.clear();
    const replies = Array.from({ length: 4 }, () => send('waits'));
    await until(() => started === 4);
    release();
    await turn();
    assert.ok(written.size <= 1, `${written.size} of them were written`);
    await Promise.all(replies);
    assert.equal(written.size, 4);
  });
}

test('a batch that is not small waits for its turn as one call does', async (t) => {
  const { dispatcher, ran, bodyOf, send } = await start(t);
  const first = send('first', '10.0.0.1');
  const batch = `[${bodyOf('a', 3000)},${bodyOf('b', 3000)}]`;
  const reply = answerOf(dispatcher, batch, new RequestScope({ remoteAddress: '10.0.0.1' }));
  assert.deepEqual(ran, ['first']);
  assert.equal(await reply, `[${ok('a')},${ok('b')}]`);
  await first.reply;
});

test('an inline call that waits for its turn gets -32003 if its caller leaves, and -32001 at its deadline, and never runs', async (t) => {
  const { ran, send } = await start(t);
  const first = send('first', '10.0.0.1');
  const leaves = send('leaves', '10.0.0.1');
  leaves.scope.cancel();
  assert.match(await leaves.reply, /"id":"leaves".*"code":-32003/);
  const late = send('late', '10.0.0.1', { timeoutMs: 5 });
  holdForATurn();
  assert.match(await late.reply, /"id":"late".*"code":-32001/);
  await first.reply;
  assert.deepEqual(ran, ['first']);
});

test('inline calls that wait for their turn get -32003 from the close', async (t) => {
  const { dispatcher, ran, send } = await start(t);
  const sent = Array.from({ length: 20 }, (_, i) => send(`${i}`, '10.0.0.1'));
  const closed = dispatcher.close(0);
  const replies = await Promise.all(sent.map(({ reply }) => reply));
  await closed;
  const refused = replies.filter((reply) => reply.includes('"code":-32003')).length;
  assert.ok(refused > 0);
  assert.equal(ran.length, sent.length - refused);
});

test('params of a large body above maxInlineParamsBytes are refused before they are read', async (t) => {
  const { ran, send } = await start(t);
  const { reply } = send('large', '10.0.0.1', { size: 300_000 });
  assert.match(await reply, /"id":"large".*"code":-32004.*"limit":262144/);
  await turn();
  assert.deepEqual(ran, []);
});
