import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expired, lost, ok, Running, resultOf } from './running.ts';

/** The limit of the procedures that have one of their own. */
const shortly = 200;

describe('inline', () => {
  const running = Running.suite();

  test('the caller may lower the limit, for a whole batch', async () => {
    assert.equal(await running.call('in.untilAborted', 'a', { timeoutMs: 60 }), expired('a', 60));
    const params = { file: running.journal.file, text: 'x' };
    const batch = ['in.count', 'in.hangForLong', 'in.count', 'out.count'].map((method, i) => ({
      method,
      params,
      id: `${i}`,
    }));
    assert.equal(
      await running.ask(batch, { timeoutMs: 250 }),
      `[${ok('0', 'x')},${expired('1', 250)},${expired('2', 250)},${expired('3', 250)}]`,
    );
    assert.equal(running.journal.count('x'), 1);
  });

  test('the caller cannot raise the limit', async () => {
    const reply = await running.call('in.hang', 'a', { timeoutMs: 100_000 });
    assert.equal(reply, expired('a', shortly));
  });
});

describe('pooled', () => {
  // Without a spare, and so without an express worker: which thread runs a call is the same on a busy machine.
  const running = Running.suite();

  test('a loop behind an await is found, too', async () => {
    const reply = running.call('spinLater', 'a');
    const before = await running.begunOn('a', 'spins');
    assert.equal(await reply, expired('a', shortly));
    const after = resultOf(await running.ask({ method: 'out.thread', id: 1 }));
    assert.notEqual(after, before);
    assert.deepEqual(running.threads, [after]);
  });

  test('a call that waits is answered, told, and its thread stays', async () => {
    const [thread] = running.threads;
    const kills = running.dispatcher.stats().pool?.kills;
    assert.equal(await running.call('out.untilAbortedShortly', 'a'), expired('a', shortly));
    await running.journal.until(`a aborted -32001 on ${thread}`);
    assert.equal(await running.call('out.hang', 'b'), expired('b', shortly));
    assert.equal(resultOf(await running.ask({ method: 'out.thread', id: 1 })), thread);
    assert.equal(running.dispatcher.stats().pool?.kills, kills);
  });

  test('the calls behind it in a batch run all the same, each once', async () => {
    const { file } = running.journal;
    for (const method of ['out.hang', 'spin']) {
      running.journal.clear();
      const batch = [
        { method: 'out.count', params: { file, text: 'before' }, id: 'before' },
        method === 'spin'
          ? { method, params: { file, text: 's', spin: true }, id: 's' }
          : { method, params: { file, text: 's' }, id: 's' },
        ...['x', 'y', 'z'].map((text) => ({
          method: 'out.count',
          params: { file, text },
          id: text,
        })),
        { method: 'in.count', params: { file, text: 'last' }, id: 'last' },
      ];
      const replies = [
        ok('before', 'before'),
        expired('s', shortly),
        ...['x', 'y', 'z', 'last'].map((text) => ok(text, text)),
      ];
      assert.equal(await running.ask(batch), `[${replies.join(',')}]`);
      const ran = running.journal.lines().filter((line) => !line.startsWith('s '));
      assert.deepEqual(ran, ['before', 'x', 'y', 'z', 'last']);
    }
  });

  test('neighbours: what has ended is delivered, what has not started runs elsewhere, once', async () => {
    const { file } = running.journal;
    const spin = (text: string, spins: boolean) =>
      running.ask({ method: 'spin', params: { file, text, spin: spins }, id: text });
    // Known to be cheap, so that they are sent together.
    for (let i = 0; i < 50; i++)
      await Promise.all([spin('w', false), running.call('out.count', 'w')]);
    const waiting = running.call('out.hangForLong', 'waiting');
    const thread = await running.begunOn('waiting');
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    const before = names.slice(0, 10).map((name) => running.call('out.count', name));
    const spinning = spin('s', true);
    const behind = names.slice(10).map((name) => running.call('out.count', name));
    assert.equal(await running.begunOn('s', 'spins'), thread);
    assert.equal(await spinning, expired('s', shortly));
    assert.equal(await waiting, lost('waiting', 'neighbour'));
    const replies = await Promise.all([...before, ...behind]);
    assert.deepEqual(
      replies,
      names.map((name) => ok(name, name)),
    );
    for (const name of names) assert.equal(running.journal.count(name), 1, name);
    assert.ok(!running.threads.includes(thread));
  });

  test('an id that only the worker can read is in the answer of the main thread, too', async () => {
    const { file } = running.journal;
    const params = JSON.stringify({ file, text: 'a' });
    const reply = (id: string) =>
      `{"jsonrpc":"2.0","id":${id},"error":{"code":-32001,"message":"Deadline exceeded","data":{"timeoutMs":${shortly}}}}`;
    const large = JSON.stringify({ file, text: 'a'.repeat(100_000) });
    for (const [method, given, tail, id] of [
      ['out.hang', params, '"id":1.0', '1.0'],
      ['out.hang', params, '"id":"\\u0061"', '"\\u0061"'],
      ['out.hang', params, '"id":5,"more":{}', '5'],
      ['out.hang', params, '"more":[],"\\u0069d":5', '5'],
      ['out.hang', large, '"id":1e3', '1e3'],
    ] as const) {
      const body = `{"method":"${method}","params":${given},${tail}}`;
      assert.equal(await running.dispatcher.dispatchText(body), reply(id), tail);
      assert.equal(await running.dispatcher.dispatchText(Buffer.from(body)), reply(id), tail);
    }
  });
});
