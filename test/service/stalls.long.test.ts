import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { largestInline, stallBodies } from '../../bench/subjects/stall-bodies.ts';
import { suggest } from '../../src/core/base/suggest.ts';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { largeBatch } from '../../src/core/protocol/body.ts';
import { readExactly } from '../../src/core/protocol/exact.ts';
import type { Units } from '../../src/core/protocol/syntax.ts';
import { type Dispatcher, Router } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { TestService } from '../harness.ts';
import { answerOf } from '../replies.ts';
import { turn } from '../turns.ts';

/**
 * What one body may make the main thread do, counted: the worst bodies known for each stage. How long that
 * takes is measured by `npm run bench -- --only stalls`.
 */

/** A small one, and one that is many times what any stage may parse in one turn. */
const sizes = [10 * 1024, 1024 ** 2];

/** The most characters that JSON.parse is given on this thread in one turn of the event loop. */
async function mostParsed(run: () => unknown): Promise<number> {
  const { parse } = JSON;
  let most = 0;
  let parsed = 0;
  let isOver = false;
  JSON.parse = (text: string, ...rest: never[]): unknown => {
    parsed += text.length;
    most = Math.max(most, parsed);
    return parse(text, ...rest);
  };
  const nextTurn = (): void => {
    parsed = 0;
    if (!isOver) setImmediate(nextTurn);
  };
  setImmediate(nextTurn);
  try {
    await run();
  } finally {
    isOver = true;
    JSON.parse = parse;
  }
  return most;
}

function sharedOf(body: string): Uint8Array {
  const bytes = Buffer.from(body);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  shared.set(bytes);
  return shared;
}

describe('one body on the main thread', () => {
  const modules = [moduleUrl('bench/subjects/stall-procedures.ts')];
  const { dispatcher: open } = TestService.suite({ modules });
  const waiting = new Router();
  waiting.rpc({ name: 'wait', placement: 'inline', async: true }, (_params, { signal }) =>
    once(signal, 'abort'),
  );
  const { dispatcher: full } = TestService.suite({ router: waiting, maxInFlight: 1 });
  const holding = new AbortController();
  before(() => {
    void full.dispatch({ id: 1, method: 'wait' }, { signal: holding.signal });
  });
  after(() => holding.abort());

  const limit = open.config.maxInlineParamsBytes;
  const parsedBy = (dispatcher: Dispatcher, body: string | Uint8Array) =>
    mostParsed(() => answerOf(dispatcher, body, new RequestScope()));

  for (const size of sizes) {
    for (const { stage, body, asText, refused } of stallBodies(size)) {
      test(`${size} bytes, ${stage}: no turn parses more than a batch that is read at once`, async () => {
        const dispatcher = refused === true ? full : open;
        const most = await parsedBy(dispatcher, asText === true ? body : sharedOf(body));
        assert.ok(most <= largeBatch, `${most} characters`);
      });
    }
  }

  test('the largest params of an inline call are parsed, and once', async () => {
    const body = largestInline(limit);
    const most = await parsedBy(open, sharedOf(body));
    assert.ok(most > limit - 200 && most <= limit + 10, `${most} characters`);
  });
});

/** Counts each look at a unit. */
function watched(text: string): { units: Units; looks: () => number } {
  let looks = 0;
  const units = new Proxy(Buffer.from(text), {
    get: (target, key) => {
      looks++;
      return Reflect.get(target, key) as unknown;
    },
  });
  return { units, looks: () => looks };
}

describe('the exact reader', () => {
  const limits = { maxDepth: 64, maxBatch: 1000, strict: false };
  const looksAt = (text: string): number => {
    const { units, looks } = watched(text);
    const textOf = (start: number, end: number) => Buffer.from(text).toString('utf8', start, end);
    readExactly({ units, length: Buffer.byteLength(text), textOf }, limits);
    return looks();
  };
  const [small, large] = [4000, 64_000].map((size) => stallBodies(size));
  for (const [i, { stage, body }] of (large ?? []).entries()) {
    test(`looks at each unit a few times at most: ${stage}`, () => {
      const before = (small?.[i]?.body ?? '').length;
      const [few, many] = [looksAt(small?.[i]?.body ?? ''), looksAt(body)];
      assert.ok(many <= 6 * Buffer.byteLength(body), `${many} looks at ${body.length}`);
      // Linear: sixteen times the body, no more than so many times the looks and a fifth.
      assert.ok(many / few <= 1.2 * (body.length / before), `${few}, then ${many}`);
    });
  }

  test('of a batch too long, nothing behind its last call is looked at', () => {
    const batch = (length: number) => `[${'{},'.repeat(length)}{}]`;
    assert.equal(looksAt(batch(1000)), looksAt(batch(100_000)));
  });
});

describe('a batch of inline calls', () => {
  for (const batchConcurrency of [1, 4]) {
    test(`calls of a batch let others have a turn, ${batchConcurrency} at a time`, async (t) => {
      const router = new Router();
      const events: string[] = [];
      router.rpc({ name: 'mark', placement: 'inline' }, ({ as }) => {
        events.push(String(as));
        return null;
      });
      const { dispatcher } = await TestService.start(t, { router, batchConcurrency });
      const call = (as: string, pad = '') => ({ method: 'mark', params: { as, pad }, id: 1 });
      const run = async (calls: unknown[]): Promise<string[]> => {
        // Twenty turns follow one that was full.
        for (let turns = 0; turns < 25; turns++) await turn();
        events.length = 0;
        const batch = dispatcher.dispatchText(JSON.stringify(calls)).then(() => 'replied');
        const other = new Promise((resolve) => setImmediate(resolve)).then(() =>
          dispatcher.dispatch(call('other')),
        );
        await Promise.all([batch, other]);
        return events.splice(0);
      };
      // Many calls, and few with many bytes: the other comes after the second turn at the latest.
      for (const [calls, ofTurn] of [
        [Array.from({ length: 600 }, () => call('batch')), 256],
        [Array.from({ length: 20 }, () => call('batch', 'x'.repeat(20_000))), 4],
      ] as const) {
        const seen = await run([...calls]);
        assert.equal(seen.length, calls.length + 1);
        const before = seen.indexOf('other');
        assert.ok([ofTurn, 2 * ofTurn].includes(before), `at ${before}`);
      }
      // What one turn takes is not interrupted.
      const few = await run(Array.from({ length: 200 }, () => call('batch')));
      assert.equal(few.indexOf('other'), 200);
    });
  }
});

test('a thousand searches for a name share one bound', () => {
  const names = Array.from({ length: 10_000 }, (_, n) => `${'a'.repeat(240)}.${n}`);
  let read = 0;
  const shared = { left: 50_000 };
  const counted = function* (): Generator<string> {
    for (const name of names) {
      read++;
      yield name;
    }
  };
  for (let n = 0; n < 1000; n++) suggest(`${'a'.repeat(240)}b${n}`, counted(), shared);
  assert.ok(read <= 51_000, `${read} names`);
  assert.ok(shared.left > -5000, `${shared.left} steps`);
});
