import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { Outbox } from '../../../src/core/workers/wire/messages.ts';
import { anyText } from '../../any-text.ts';
import { moduleUrl } from '../../files.ts';
import { seed } from '../../seed.ts';

interface Result {
  readonly ticket: number;
  readonly code: number;
  readonly micros: number;
  readonly elapsedUs: number;
  readonly reply: string;
}

/** The two sides of one outbox, as two threads hold it. */
function pair(): { replica: Outbox; mainThread: Outbox } {
  const mainThread = new Outbox();
  return { mainThread, replica: new Outbox(mainThread.buffer) };
}

function put(outbox: Outbox, { ticket, code, micros, elapsedUs, reply }: Result): boolean {
  return outbox.put(ticket, code, micros, elapsedUs, reply);
}

function drained(outbox: Outbox): Result[] {
  const results: Result[] = [];
  outbox.drain((ticket, code, micros, elapsedUs, reply) =>
    results.push({ ticket, code, micros, elapsedUs, reply }),
  );
  return results;
}

function result(ticket: number, reply: string): Result {
  return { ticket, code: 0, micros: 1.5, elapsedUs: 2.5, reply };
}

const results = fc.record(
  {
    ticket: fc.nat(Number.MAX_SAFE_INTEGER),
    code: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    micros: fc.double({ min: 0, noNaN: true }),
    elapsedUs: fc.double({ min: 0, noNaN: true }),
    reply: fc.oneof(
      fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
      anyText(60),
      fc.nat(9000).map((length) => 'x'.repeat(length)),
      fc.nat(8192).map((length) => 'é'.repeat(length)),
      fc.nat(8192).map((length) => '漢'.repeat(length)),
      fc.constantFrom('', '"\ud800"', '\0', '😀'),
    ),
  },
  { noNullPrototype: true },
);

test('what is taken is given once, in order and unchanged, through many turns of the ring', () => {
  let taken = 0;
  let refused = 0;
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          { weight: 20, arbitrary: results },
          { weight: 1, arbitrary: fc.constant('drain') },
        ),
        {
          minLength: 100,
          maxLength: 400,
        },
      ),
      (steps) => {
        const { replica, mainThread } = pair();
        const expected: Result[] = [];
        for (const step of steps) {
          if (typeof step === 'string') {
            assert.deepEqual(drained(mainThread), expected.splice(0));
          } else if (put(replica, step)) {
            taken++;
            expected.push(step);
          } else {
            refused++;
          }
        }
        assert.deepEqual(drained(mainThread), expected);
        assert.deepEqual(drained(mainThread), []);
      },
    ),
    { seed, numRuns: 60 },
  );
  assert.ok(taken > 5000 && refused > 50, `${taken} taken, ${refused} refused`);
});

test('a reply that it cannot hold is left to a message', () => {
  const { replica, mainThread } = pair();
  assert.equal(put(replica, result(1, 'x'.repeat(8 * 1024))), true);
  assert.equal(put(replica, result(2, 'x'.repeat(8 * 1024 + 1))), false);
  assert.equal(put(replica, result(3, '"\ud800"')), false);
  assert.deepEqual(
    drained(mainThread).map(({ ticket }) => ticket),
    [1],
  );
});

test('a full ring refuses, loses nothing, and takes again after it was read', () => {
  const { replica, mainThread } = pair();
  let count = 0;
  while (put(replica, result(count, 'x'.repeat(100)))) count++;
  assert.ok(count > 1000);
  const tickets = drained(mainThread).map(({ ticket }) => ticket);
  assert.deepEqual(
    tickets,
    Array.from({ length: count }, (_, n) => n),
  );
  assert.equal(put(replica, result(count, 'x')), true);
  assert.deepEqual(
    drained(mainThread).map(({ ticket }) => ticket),
    [count],
  );
});

test('a reader is woken once for all there is, and again for what comes after it has read', () => {
  const { replica, mainThread } = pair();
  const wakes = [1, 2, 3].map((ticket) => put(replica, result(ticket, 'x')) && replica.takeWake());
  assert.deepEqual(wakes, [true, false, false]);
  assert.equal(drained(mainThread).length, 3);
  assert.equal(put(replica, result(4, 'x')) && replica.takeWake(), true);
});

test('two threads: nothing is lost, doubled or torn, and the reader is always woken', async () => {
  const count = 200_000;
  const mainThread = new Outbox();
  const worker = new Worker(new URL('./outbox-writer.mjs', import.meta.url), {
    workerData: {
      module: moduleUrl('src/core/workers/wire/messages.ts'),
      buffer: mainThread.buffer,
      count,
    },
  });
  let next = 0;
  await new Promise<void>((resolve, reject) => {
    worker.on('error', reject);
    worker.on('message', () => {
      mainThread.drain((ticket, code, micros, elapsedUs, reply) => {
        const expected = `${next}${next % 3 === 0 ? 'é' : ''}${'x'.repeat(next % 97)}`;
        if (ticket !== next || code !== next % 7 || micros !== next / 2 || elapsedUs !== next) {
          reject(new Error(`${ticket} came instead of ${next}`));
        } else if (reply !== expected) {
          reject(new Error(`${reply} came instead of ${expected}`));
        }
        next++;
      });
      if (next === count) resolve();
    });
  });
  await worker.terminate();
  assert.equal(next, count);
});

test('what nobody can have written is not read: the reader ends, and reads nothing more', () => {
  const word = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  const place = fc.oneof(fc.constant(0), fc.nat(200));
  const spoilt = fc.array(fc.tuple(place, word), { minLength: 1, maxLength: 40 });
  let unreadable = 0;
  fc.assert(
    fc.property(fc.array(results, { maxLength: 20 }), spoilt, (given, words) => {
      const { replica, mainThread } = pair();
      for (const one of given) put(replica, one);
      const memory = new Int32Array(mainThread.buffer);
      for (const [at, value] of words) memory[at] = value;
      const cells = mainThread.buffer.byteLength / 8;
      assert.ok(drained(mainThread).length <= cells);
      if (!mainThread.isUnreadable) return;
      unreadable++;
      put(replica, result(1, 'late'));
      assert.deepEqual(drained(mainThread), []);
    }),
    { seed, numRuns: 300 },
  );
  assert.ok(unreadable > 100, `${unreadable}`);
});

test('a code beyond int32 is left to a message', () => {
  const { replica, mainThread } = pair();
  for (const code of [2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 53 - 1]) {
    assert.equal(put(replica, { ...result(1, 'x'), code }), false);
  }
  assert.deepEqual(drained(mainThread), []);
});
