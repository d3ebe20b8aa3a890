import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { threadId } from 'node:worker_threads';
import { ok, Running, resultOf } from './running.ts';

const size = 5_000_000;

describe('large params and results', () => {
  // Inline they are as many as nobody should allow.
  const running = Running.suite({ maxInlineParamsBytes: 2 * size });

  for (const [kind, letter] of [
    ['ASCII', 'x'],
    ['not ASCII', 'é'],
    ['wider than 16 bits', '😀'],
  ] as const) {
    for (const place of ['in', 'out']) {
      test(`5 MB of params, ${kind}, ${place === 'in' ? 'inline' : 'pooled'}`, async () => {
        const text = letter.repeat(size / Buffer.byteLength(letter));
        const thread = place === 'in' ? threadId : running.threads[0];
        const expected = ok('a', [text.length, thread]);
        for (const body of [
          `{"jsonrpc":"2.0","method":"${place}.length","params":{"text":"${text}"},"id":"a"}`,
          `{"id":"a","method":"${place}.length","params":["${text}"]}`,
          // Left to the exact reader: an unknown member.
          `{"method":"${place}.length","params":["${text}"],"more":1,"id":"a"}`,
        ]) {
          assert.equal(await running.dispatcher.dispatchText(body), expected);
          // A view in the middle of a larger buffer, which is no Buffer.
          const room = new Uint8Array(Buffer.byteLength(body) + 20);
          room.set(Buffer.from(body), 7);
          const view = room.subarray(7, room.length - 13);
          assert.equal(await running.dispatcher.dispatchText(view), expected);
        }
        const batch = `[{"method":"${place}.length","params":["${text}"],"id":"a"},{"method":"${place}.thread","id":"b"}]`;
        assert.equal(
          await running.dispatcher.dispatchText(batch),
          `[${expected},${ok('b', thread)}]`,
        );
        assert.deepEqual(
          await running.dispatcher.dispatch({ method: `${place}.length`, params: [text], id: 'a' }),
          JSON.parse(expected),
        );
      });

      test(`a result of 5 MB, ${kind}, ${place === 'in' ? 'inline' : 'pooled'}`, async () => {
        const times = size / Buffer.byteLength(letter);
        const request = { method: `${place}.repeat`, params: { text: letter, times }, id: 'a' };
        const expected = ok('a', letter.repeat(times));
        assert.ok((await running.ask(request)) === expected);
        assert.ok((await running.ask([request, request])) === `[${expected},${expected}]`);
      });
    }
  }

  test('sizes around the bound where text becomes bytes', async () => {
    for (const letter of ['x', 'é']) {
      for (let length = 65_536 - 90; length <= 65_536 + 10; length += 7) {
        const text = letter.repeat(length);
        const body = `{"method":"out.length","params":["${text}"],"id":1}`;
        for (const form of [body, Buffer.from(body)]) {
          const [found] = resultOf(await running.dispatcher.dispatchText(form)) as number[];
          assert.equal(found, length);
        }
        const echoed = await running.ask({
          method: 'out.repeat',
          params: { text, times: 1 },
          id: 1,
        });
        assert.equal(resultOf(echoed), text);
      }
    }
  });
});
