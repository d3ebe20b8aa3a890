import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Dispatcher } from '../../src/index.ts';
import { Journal } from '../service/journal.ts';
import { error, invalid, result } from './case.ts';
import { startDispatcher } from './subjects.ts';

const places = ['in', 'out'];
const ways = ['mark', 'markLater', 'markAndFail'];

/** Calls of every kind in both places, each kind before and after each other one, some notifications. */
function mixedBatch(file: string): { requests: object[]; names: string[]; replies: string[] } {
  const kinds = places.flatMap((place) => ways.map((way) => `${place}.${way}`));
  const pairs = kinds.flatMap((first) => kinds.map((second) => [first, second]));
  const requests: object[] = [];
  const names: string[] = [];
  const replies: string[] = [];
  for (const method of pairs.flat()) {
    const index = requests.length;
    const text = `${index} ${method}`;
    const notification = index % 7 === 3;
    requests.push({ method, params: { file, text }, ...(!notification && { id: index }) });
    names.push(text);
    if (notification) continue;
    replies.push(
      method.endsWith('Fail') ? error(`${index}`, 9, text) : result(`${index}`, `"${text}"`),
    );
  }
  return { requests, names, replies };
}

describe('a batch across both places', () => {
  const journal = new Journal();
  let dispatcher: Dispatcher;
  before(async () => {
    dispatcher = await startDispatcher('both');
  });
  after(async () => {
    await dispatcher.close();
    journal.remove();
  });

  test('runs one call after another, and answers in order', async () => {
    const { requests, names, replies } = mixedBatch(journal.file);
    // Beside other work, so that the workers are not idle and frames are shared.
    const others = Array.from({ length: 20 }, (_, i) =>
      dispatcher.dispatchText(`{"method":"out.bigLater","params":[1],"id":${i}}`),
    );
    const reply = await dispatcher.dispatchText(JSON.stringify(requests));
    await Promise.all(others);
    assert.equal(reply, `[${replies.join(',')}]`);
    assert.deepEqual(
      journal.lines(),
      names.flatMap((name) => [`${name} begins`, `${name} ends`]),
    );
  });

  test('200 pooled calls in a row, more than one frame holds', async () => {
    journal.clear();
    const names = Array.from({ length: 200 }, (_, i) => `${i}`);
    const batch = names.map((text) => ({
      method: Number(text) % 3 === 0 ? 'out.markLater' : 'out.mark',
      params: [journal.file, text],
    }));
    assert.equal(await dispatcher.dispatchText(JSON.stringify(batch)), undefined);
    assert.deepEqual(
      journal.lines(),
      names.flatMap((name) => [`${name} begins`, `${name} ends`]),
    );
  });

  test('nothing of a batch has run when its end is not JSON', async () => {
    journal.clear();
    for (const place of places) {
      const call = `{"method":"${place}.mark","params":["${journal.file}","ran"],"id":1}`;
      for (const body of [`[${call},{]`, `[${call},${call}`, `[${call}] x`, `[${call},"\u0001"]`]) {
        const reply = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';
        assert.equal(await dispatcher.dispatchText(body), reply);
      }
      const many = `[${Array(1001).fill(call).join(',')}]`;
      assert.match((await dispatcher.dispatchText(many)) ?? '', /"code":-32004,.*"limit":1000/);
      const single = `{"method":"${place}.mark","params":["${journal.file}","ran",],"id":1}`;
      assert.match((await dispatcher.dispatchText(single)) ?? '', /"id":null,.*-32700/);
      const refused = `{"method":"${place}.mark","params":["${journal.file}","ran"],"id":{}}`;
      assert.equal(await dispatcher.dispatchText(refused), invalid());
    }
    assert.deepEqual(journal.lines(), []);
  });
});

/** Room for two of the large results below. */
const maxReplyBytes = 2_600_000;

describe('batchConcurrency', () => {
  const journal = new Journal();
  let dispatcher: Dispatcher;
  before(async () => {
    dispatcher = await startDispatcher('both', { batchConcurrency: 3, maxReplyBytes });
  });
  after(async () => {
    await dispatcher.close();
    journal.remove();
  });

  test('keeps the order of the replies across both places', async () => {
    journal.clear();
    const { requests, names, replies } = mixedBatch(journal.file);
    const batch = [...requests, 1, { method: 'nowhere' }];
    const reply = await dispatcher.dispatchText(JSON.stringify(batch));
    assert.equal(reply, `[${[...replies, invalid()].join(',')}]`);
    const begun = journal.lines().filter((line) => line.endsWith('begins'));
    assert.deepEqual(begun.toSorted(), names.map((name) => `${name} begins`).toSorted());
  });

  test('keeps the limit of the whole reply', async () => {
    const big = (id: number) => ({ method: 'out.big', params: [1_000_000], id });
    journal.clear();
    const late = { method: 'in.mark', params: [journal.file, 'late'], id: 7 };
    const batch = [...[1, 2, 3, 4, 5, 6].map(big), late];
    const text = await dispatcher.dispatchText(JSON.stringify(batch));
    assert.ok(text !== undefined && text.length <= maxReplyBytes);
    const replies = JSON.parse(text) as { id: number; error?: { code: number; data: unknown } }[];
    assert.deepEqual(
      replies.map(({ id }) => id),
      [1, 2, 3, 4, 5, 6, 7],
    );
    const refused = replies.flatMap(({ error: failure }) => failure ?? []);
    assert.equal(refused.length, 5);
    for (const { code, data } of refused) {
      assert.equal(code, -32004);
      assert.deepEqual(data, { limit: maxReplyBytes });
    }
    // By then the replies were too large: nothing more begins.
    assert.deepEqual(journal.lines(), []);
  });
});
