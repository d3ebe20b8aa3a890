import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../turns.ts';
import { fixture, Running, resultOf } from './running.ts';

const modules = [fixture('results.ts')];

describe('results', () => {
  const logging = Running.suite({ modules, checkResults: 'log' });
  const refusing = Running.suite({ modules, checkResults: 'refuse', maxReplyBytes: 10_000 });

  for (const place of ['in', 'out']) {
    const where = place === 'in' ? 'inline' : 'from a worker';
    const ask = (running: Running, name: string, params?: unknown): Promise<string | undefined> =>
      running.ask({
        method: `${place}.${name}`,
        id: 1,
        ...(params === undefined ? {} : { params }),
      });

    test(`hold what is declared, and nothing else: ${where}`, async () => {
      for (const running of [logging, refusing]) {
        assert.deepEqual(resultOf(await ask(running, 'leak')), { id: 1, name: 'Ann' });
      }
    });

    test(`that do not match are refused, or logged once and sent: ${where}`, async () => {
      logging.lines.length = 0;
      assert.match(String(await ask(refusing, 'wrong')), /"code":-32603/);
      for (let call = 0; call < 20; call++) {
        assert.deepEqual(resultOf(await ask(logging, 'wrong')), { id: 'one', name: 'Ann' });
      }
      const lines = logging.lines.filter(({ fields }) => fields.event === 'result-mismatch');
      assert.deepEqual(
        lines.map(({ level, fields }) => [level, fields.method, fields.detail]),
        [
          [
            'warn',
            `${place}.wrong`,
            'the result does not match returns: /id must be number (expected number, received string)',
          ],
        ],
      );
    });

    test(`of which JSON keeps nothing are refused, and the log has the place: ${where}`, async () => {
      logging.lines.length = 0;
      const reply = String(await ask(logging, 'lost'));
      assert.match(reply, /"code":-32603,.*"data":\{"ref":"[0-9a-f-]+"\}/);
      const logged = () => logging.lines.find(({ fields }) => fields.event === 'call-failed');
      // A worker's notice of it may be read behind its result.
      await until(() => logged() !== undefined);
      assert.match(
        String(logged()?.fields.detail),
        /^the result at \/users is a Map, of which JSON/,
      );
    });

    test(`whose classes have accessors are sent without them, and the log says so once: ${where}`, async () => {
      logging.lines.length = 0;
      for (let call = 0; call < 20; call++) {
        assert.deepEqual(resultOf(await ask(logging, 'accessors')), [
          { first: 'Ann', tags: ['a'] },
        ]);
      }
      assert.deepEqual(
        logging.lines.map(({ level, fields }) => [level, fields]),
        [
          [
            'warn',
            {
              event: 'result-accessors-lost',
              method: `${place}.accessors`,
              detail:
                'the result at /0 is a Person, and JSON leaves out its accessors (fullName, initials): ' +
                'return a plain object, or give the class a toJSON()',
            },
          ],
        ],
      );
    });

    test(`that are too large are logged once, with their size and the option: ${where}`, async () => {
      refusing.lines.length = 0;
      for (let call = 0; call < 20; call++) {
        assert.match(String(await ask(refusing, 'large')), /"code":-32004.*\{"limit":10000\}/);
      }
      assert.match(String(await ask(refusing, 'largeValue')), /"code":-32004.*\{"limit":10000\}/);
      await until(() => refusing.lines.some(({ fields }) => fields.event === 'procedure-log'));
      assert.deepEqual(
        refusing.lines.map(({ level, fields }) => [level, fields]),
        [
          [
            'warn',
            {
              event: 'result-too-large',
              method: `${place}.large`,
              detail: 'the result has 20002 bytes; maxReplyBytes allows a reply of 10000',
            },
          ],
          [
            'warn',
            {
              event: 'procedure-log',
              method: `${place}.largeValue`,
              id: 1,
              fields: { bytes: 20_002, maxReplyBytes: 10_000 },
            },
          ],
        ],
      );
    });

    test(`may be bytes, as params may: ${where}`, async () => {
      const data = Buffer.from([0, 1, 254]).toString('base64');
      const expected = Buffer.from([255, 254, 1]).toString('base64');
      assert.deepEqual(resultOf(await ask(refusing, 'bytes', { data })), { data: expected });
      assert.match(String(await ask(refusing, 'bytes', { data: 'AA*=' })), /"code":-32602/);
    });
  }

  test('are looked through without memory for each of their values', async (t) => {
    // A name and a path for each number take more than 100 MB.
    const small = Running.make(t, { modules, workerMemoryMb: 64, maxReplyBytes: 10_000_000 });
    const digits = resultOf(await small.ask({ method: 'out.digits', id: 1 }));
    assert.equal((digits as number[] | undefined)?.length, 1_000_000);
  });
});
