import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scanBatch } from '../../src/core/protocol/quick-batch.ts';
import { exceedsDepth } from '../../src/core/protocol/syntax.ts';
import { seed } from '../seed.ts';
import { mutate, plainBatch, randomOf } from './bodies.ts';
import { parseModel, readModel } from './model.ts';

const limits = { maxDepth: 64, maxBatch: 1000, strict: false };

test('the quick reader of batches never contradicts the model', () => {
  let accepted = 0;
  let changedAccepted = 0;
  let gaveUp = 0;
  fc.assert(
    fc.property(plainBatch, fc.integer(), fc.boolean(), (body, start, strict) => {
      const random = randomOf(start);
      for (let n = 0; n <= 150; n++) {
        const text = n === 0 ? body : mutate(body, random);
        // Near the true depth, so that both answers are asked for.
        const maxDepth = n % 4 === 0 ? 2 + random(4) : limits.maxDepth;
        const entries = scanBatch(text, { ...limits, maxDepth, strict });
        if (entries === undefined) {
          gaveUp++;
          continue;
        }
        accepted++;
        if (n > 0) changedAccepted++;
        const model = parseModel(text);
        assert.ok(model?.kind === 'array', `no JSON array: ${text}`);
        assert.equal(exceedsDepth(text, maxDepth), false, `deeper than ${maxDepth}: ${text}`);
        const readings = entries.map(({ method, id, paramsStart, paramsEnd }) => {
          const params = paramsStart === -1 ? undefined : text.slice(paramsStart, paramsEnd);
          return { method, id, params };
        });
        assert.deepEqual(
          readings,
          model.items.map((item) => readModel(text, item, strict)),
          text,
        );
        for (const [index, entry] of entries.entries()) {
          const params = readings[index]?.params;
          const value: unknown = params === undefined ? undefined : JSON.parse(params);
          assert.deepStrictEqual(entry.params, value, text);
        }
      }
    }),
    { seed, numRuns: 1500 },
  );
  assert.ok(accepted > 20_000, `accepted only ${accepted}, gave up on ${gaveUp}`);
  assert.ok(changedAccepted > 10_000, `accepted only ${changedAccepted} changed ones`);
});

test('params that are JSON only together are not taken', () => {
  const request = (params: string) => `{"method":"m","params":${params},"id":1}`;
  for (const [first, second] of [
    ['{"a":[1}', '[2]}'],
    ['{"a":"}', '{","b":"}'],
    ['[1},{2]', '{}'],
    ['{"a":1},{"b":2}', '[]'],
    ['[1', '2]'],
  ] as const) {
    const text = `[${request(first)},${request(second)}]`;
    assert.throws(() => JSON.parse(text), SyntaxError);
    assert.equal(scanBatch(text, limits), undefined, text);
  }
});

test('what the exact reader refuses is left to it', () => {
  const one = '{"jsonrpc":"2.0","id":1,"method":"m","params":[]}';
  const batch = (count: number) => `[${Array(count).fill(one).join(',')}]`;
  assert.equal(scanBatch(batch(1000), limits)?.length, 1000);
  assert.equal(scanBatch(batch(1001), limits), undefined);
  for (const text of ['[]', one, `[${one},]`, `[,${one}]`, `[${one}] x`, `[${one}`, `[[${one}]]`]) {
    assert.equal(scanBatch(text, limits), undefined, text);
  }
  const nested = (levels: number) =>
    `[{"method":"m","params":${'['.repeat(levels)}${']'.repeat(levels)}}]`;
  assert.equal(scanBatch(nested(62), limits)?.length, 1);
  assert.equal(scanBatch(nested(63), limits), undefined);
});

test('what an earlier, longer text left behind is not read', () => {
  const one = '{"id":1,"method":"m","params":[1]}';
  for (const long of [`[${one},${one}]`, `[{"method":"m","params":["${'é'.repeat(40_000)}"]}]`]) {
    assert.notEqual(scanBatch(long, limits), undefined);
    const whole = `[${one},${one}]`;
    for (let end = 1; end < whole.length; end++) {
      assert.equal(scanBatch(whole.slice(0, end), limits), undefined);
    }
  }
});

test('texts of any length and of any characters are read', () => {
  for (const filler of ['x', 'é', '中', '😀', '\ud800']) {
    // Around the length up to which memory is kept.
    for (const length of [0, 1, 60, 70, 32_000, 32_700, 32_768, 33_000, 70_000]) {
      const value = filler.repeat(Math.ceil(length / filler.length)).slice(0, length);
      const text = `[${JSON.stringify({ id: 'a', method: 'm', params: { value } })},{"method":"n"}]`;
      const entries = scanBatch(text, limits);
      assert.deepEqual(
        entries?.map(({ method, id, params }) => ({ method, id, params })),
        [
          { method: 'm', id: '"a"', params: { value } },
          { method: 'n', id: undefined, params: undefined },
        ],
      );
    }
  }
});
