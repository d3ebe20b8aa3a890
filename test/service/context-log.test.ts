import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../turns.ts';
import { fixture, Running } from './running.ts';

describe('context.log', () => {
  const running = Running.suite({ modules: [fixture('context-log.ts')] });
  const lines = () => running.lines.filter(({ fields }) => fields.event === 'procedure-log');
  const call = (method: string, params: object, id: unknown) => running.ask({ method, params, id });

  for (const place of ['inline', 'worker']) {
    test(`writes lines with the method and the id of their call, ${place}`, async () => {
      running.lines.length = 0;
      await call(`${place}.write`, { times: 2 }, 'a');
      await running.ask({ method: `${place}.write`, params: { times: 1 } });
      await until(() => lines().length === 3);
      const event = 'procedure-log';
      const method = `${place}.write`;
      assert.deepEqual(
        lines(),
        [
          { event, method, id: 'a', fields: { i: 0 } },
          { event, method, id: 'a', fields: { i: 1 } },
          { event, method, id: undefined, fields: { i: 0 } },
        ].map((fields) => ({ level: 'info', fields, message: 'a line' })),
      );
    });

    test(`takes what can not be written, bounded, and forges nothing, ${place}`, async () => {
      running.lines.length = 0;
      assert.match((await call(`${place}.odd`, {}, 1)) ?? '', /"result":null/);
      await until(() => lines().length === 4);
      const [circle, forged, long, none] = lines();
      assert.equal(circle?.level, 'debug');
      assert.match(JSON.stringify(circle?.fields.fields), /unwritable.*circular/);
      assert.equal(forged?.level, 'warn');
      assert.equal(forged?.fields.method, `${place}.odd`);
      assert.equal(forged?.fields.event, 'procedure-log');
      assert.deepEqual(long?.fields.fields, { tooLong: 100_011 });
      assert.equal(long?.message.length, 8192);
      assert.deepEqual([none?.fields.fields, none?.message], [{}, '']);
      assert.ok(!running.lines.some(({ fields }) => fields.event === 'worker-garbled'));
    });

    test(`hides passwords and tokens at any depth, ${place}`, async () => {
      running.lines.length = 0;
      await call(`${place}.secrets`, {}, 1);
      await until(() => lines().length === 1);
      const hidden = '[redacted]';
      const user = { accessToken: hidden, api_key: hidden, name: 'Ada' };
      assert.deepEqual(lines()[0]?.fields.fields, {
        deep: { list: [{ Password: hidden, user }] },
        tokens: 3,
      });
    });

    test(`is bounded for each thread, and what is dropped is counted, ${place}`, async () => {
      running.lines.length = 0;
      await call(`${place}.write`, { times: 20_000 }, 1);
      const told = () => lines().filter(({ level }) => level === 'warn');
      const written = () => lines().length - told().length;
      const dropped = () =>
        told().reduce((sum, { fields }) => sum + (fields.fields as { dropped: number }).dropped, 0);
      // They are told by the second: on a busy machine the call takes more than one.
      await until(() => written() + dropped() >= 20_000);
      assert.equal(written() + dropped(), 20_000);
      assert.ok(written() < 20_000);
    });
  }
});

describe('context.cancelled', () => {
  const running = Running.suite({ modules: [fixture('context-log.ts')] });

  test('is true within synchronous code in a worker, once the caller has gone', async () => {
    const gone = new AbortController();
    const { file } = running.journal;
    const reply = running.ask({ method: 'loop', params: { file }, id: 1 }, { signal: gone.signal });
    await running.journal.until('loops false');
    gone.abort();
    assert.match((await reply) ?? '', /"result":\d+/, 'it ended by itself');
    assert.deepEqual(running.journal.lines(), ['loops false', 'ended false']);
  });
});
