import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Envelope,
  type InvalidEnvelope,
  isInvalid,
  verified,
} from '../../src/core/protocol/body.ts';
import { readBody, readBytes, scanEnvelope } from '../../src/core/protocol/read.ts';
import { exceedsDepth } from '../../src/core/protocol/syntax.ts';
import { cases, seed } from '../seed.ts';
import { body, mutate, plainBatch, randomOf, request } from './bodies.ts';
import { beginsLongArray, parseModel, type Reading, readModel } from './model.ts';

const mutationsPerRun = 50;

/** Holds for each generated body and for many small changes of it; a failure shows the body itself. */
function forMutations(
  bodies: fc.Arbitrary<string>,
  runs: number,
  check: (text: string, n: number) => void,
): number {
  let checked = 0;
  fc.assert(
    fc.property(bodies, fc.integer(), (text, start) => {
      const random = randomOf(start);
      for (let n = 0; n <= mutationsPerRun; n++) {
        const changed = n === 0 ? text : mutate(text, random);
        checked++;
        try {
          check(changed, n);
        } catch (error) {
          throw new Error(`body ${JSON.stringify(changed)}: ${String(error)}`, { cause: error });
        }
      }
    }),
    { seed, numRuns: cases(runs), includeErrorInReport: true },
  );
  return checked;
}

const limits = { maxDepth: 64, maxBatch: 1000, strict: false };
const parseError = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';

function isJson(text: string): boolean {
  const { stackTraceLimit } = Error;
  // To collect the stack takes longer than to find the fault.
  Error.stackTraceLimit = 0;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A reading of src in the terms of the model. */
function readingOf(text: string | Buffer, entry: Envelope | InvalidEnvelope): Reading {
  if (isInvalid(entry)) return { invalid: entry.id, isOfParams: entry.data !== undefined };
  const { method, id, paramsStart, paramsEnd } = entry;
  const params = paramsStart === -1 ? undefined : text.slice(paramsStart, paramsEnd).toString();
  return { method, id, params };
}

test('the model reads JSON as JSON.parse does', () => {
  let valid = 0;
  const checked = forMutations(body, 500, (text) => {
    const is = isJson(text);
    if (is) valid++;
    assert.equal(parseModel(text) !== undefined, is);
  });
  assert.ok(valid > 3000 && checked - valid > 3000, `${valid} of ${checked} were JSON`);
});

test('readBody reads requests and batches as the protocol says', () => {
  for (const strict of [false, true]) {
    const seen = { invalid: 0, valid: 0, batch: 0, quickBatch: 0, broken: 0 };
    forMutations(fc.oneof({ weight: 3, arbitrary: body }, plainBatch), 800, (text, n) => {
      const model = parseModel(text);
      // Often near the true depth, so that both answers are asked for.
      const maxDepth = n % 4 === 0 ? 2 + (n % 3) : limits.maxDepth;
      const read = readBody(text, { ...limits, maxDepth, strict });
      if (model === undefined || model.depth > maxDepth) {
        seen.broken++;
        assert.equal(read.kind === 'reply' && read.reply, parseError);
      } else if (model.kind !== 'array') {
        assert.ok(read.kind === 'single');
        const expected = readModel(text, model, strict);
        if ('invalid' in expected) seen.invalid++;
        else seen.valid++;
        assertReading(text, read.entry, expected);
      } else if (model.items.length === 0) {
        assert.equal(
          read.kind === 'reply' && read.reply,
          '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}',
        );
      } else {
        seen.batch++;
        assert.ok(read.kind === 'batch');
        assert.equal(read.entries.length, model.items.length);
        if (read.entries.every((entry) => !isInvalid(entry) && entry.params !== verified))
          seen.quickBatch++;
        for (const [index, item] of model.items.entries())
          assertReading(text, read.entries[index]!, readModel(text, item, strict));
      }
    });
    for (const [kind, count] of Object.entries(seen)) assert.ok(count > 200, `${kind}: ${count}`);
  }
});

/** The parsed params are those of the text, and nothing that was sent became a prototype. */
function assertReading(text: string, entry: Envelope | InvalidEnvelope, expected: Reading): void {
  assert.deepEqual(readingOf(text, entry), expected);
  // The exact reader gives the place alone.
  if (isInvalid(entry) || 'invalid' in expected || entry.params === verified) return;
  const value: unknown = expected.params === undefined ? undefined : JSON.parse(expected.params);
  assert.deepStrictEqual(entry.params, value);
}

test('each text of up to three characters of the grammar, and each escape, is JSON or refused', () => {
  const characters = '{}[]:,"\\ueE+-.019tnfa \n\u0000\u001f\u007fé\uffff';
  const check = (text: string): void => {
    const whole = `{"method":"m","params":[${text}]}`;
    assert.equal(readBody(whole, limits).kind !== 'reply', isJson(whole), JSON.stringify(text));
    if (text.length < 3) for (const character of characters) check(text + character);
  };
  check('');
  for (let code = 0; code < 0x80; code++) check(`"\\${String.fromCharCode(code)}"`);
});

test('a batch of params that are JSON only together is refused', () => {
  const request = (params: string) => `{"method":"m","params":${params},"id":1}`;
  for (const [first, second] of [
    ['{"a":[1}', '[2]}'],
    ['{"a":"}', '{","b":"}'],
    ['[1},{2]', '{}'],
    ['{"a":1},{"b":2}', '[]'],
    ['[1', '2]'],
  ] as const) {
    const read = readBody(`[${request(first)},${request(second)}]`, limits);
    assert.equal(read.kind === 'reply' && read.reply, parseError);
  }
});

test('what an earlier, longer text left behind is not read', () => {
  const one = '{"id":1,"method":"m","params":[1]}';
  for (const long of [`[${one},${one}]`, `[{"method":"m","params":["${'é'.repeat(40_000)}"]}]`]) {
    assert.equal(readBody(long, limits).kind, 'batch');
    const whole = `[${one},${one}]`;
    for (let end = 1; end < whole.length; end++)
      assert.equal(readBody(whole.slice(0, end), limits).kind, 'reply');
  }
});

test('batches of any length and of any characters are read', () => {
  for (const filler of ['x', 'é', '中', '😀', '\ud800']) {
    // Around the length up to which memory is kept.
    for (const length of [0, 1, 60, 70, 32_000, 32_700, 32_768, 33_000, 70_000]) {
      const value = filler.repeat(Math.ceil(length / filler.length)).slice(0, length);
      const params = JSON.stringify({ value });
      const text = `[{"id":"a","method":"m","params":${params}},{"method":"n"}]`;
      const read = readBody(text, limits);
      assert.ok(read.kind === 'batch');
      const expected = [
        { method: 'm', id: '"a"', params },
        { method: 'n', id: undefined, params: undefined },
      ];
      for (const [index, one] of expected.entries()) assertReading(text, read.entries[index]!, one);
    }
  }
});

test('bytes are read as their text is', () => {
  let read = 0;
  forMutations(body, 300, (text) => {
    const bytes = Buffer.from(text);
    if (bytes.toString() !== text) return; // a lone surrogate: no UTF-8 holds it
    read++;
    const inText = readBody(text, limits);
    const inBytes = readBytes(bytes, limits);
    if (inText.kind === 'reply' || inBytes.kind === 'reply') {
      assert.deepEqual(inBytes, inText);
      return;
    }
    const [expected, entries] = [inText, inBytes].map((found) =>
      found.kind === 'batch' ? found.entries : [found.entry],
    );
    assert.deepEqual(
      entries?.map((entry) => readingOf(bytes, entry)),
      expected?.map((entry) => readingOf(text, entry)),
    );
  });
  assert.ok(read > 7000, String(read));
});

test('a batch too long is told by its first calls, whatever stands behind them', () => {
  const seen = { tooLong: 0, other: 0 };
  forMutations(body, 500, (text, n) => {
    const maxBatch = 1 + (n % 3);
    const maxDepth = 2 + (n % 4);
    const read = readBody(text, { ...limits, maxBatch, maxDepth });
    const isTooLong = beginsLongArray(text, maxBatch, maxDepth);
    seen[isTooLong ? 'tooLong' : 'other']++;
    assert.equal(read.kind === 'reply' && read.code === -32004, isTooLong);
  });
  assert.ok(seen.tooLong > 500 && seen.other > 500, JSON.stringify(seen));
});

test('the quick reader never contradicts the exact one', () => {
  for (const strict of [false, true]) {
    let accepted = 0;
    let gaveUp = 0;
    const checked = forMutations(request, 1500, (text, n) => {
      const random = randomOf(n * 7919 + text.length);
      // The body as a whole, and its two ends as a large body's are read.
      const width = 1 + random(text.length + 1);
      const from = Math.max(0, text.length - width);
      for (const quick of [
        scanEnvelope(text, text, 0, strict),
        scanEnvelope(text.slice(0, width), text.slice(from), from, strict),
      ]) {
        if (quick === undefined) {
          gaveUp++;
          continue;
        }
        const params = quick.start === -1 ? undefined : text.slice(quick.start, quick.end);
        if (params !== undefined) {
          if (!isJson(params)) continue;
          const value: unknown = JSON.parse(params);
          if (typeof value !== 'object' || value === null) continue;
        }
        // A name that no table holds goes to the exact reader.
        if (quick.method === '') continue;
        accepted++;
        const read = readBody(text, { ...limits, strict });
        assert.ok(read.kind === 'single', 'the exact reader refuses it');
        const { entry } = read;
        assert.ok(!isInvalid(entry), 'the exact reader finds it invalid');
        assert.equal(entry.method, quick.method);
        assert.equal(entry.id, quick.id);
        const exact =
          entry.paramsStart === -1 ? undefined : text.slice(entry.paramsStart, entry.paramsEnd);
        assert.equal(params?.trim(), exact);
      }
    });
    assert.ok(checked >= 70_000);
    // It must be seen to work: a reader that always gives up contradicts nobody.
    assert.ok(accepted > 3000, `accepted only ${accepted}, gave up on ${gaveUp}`);
  }
});

test('the quick reader takes what clients usually send', () => {
  for (const [text, method, id, params] of [
    ['{"jsonrpc":"2.0","method":"m","params":{"a":1},"id":1}', 'm', '1', '{"a":1}'],
    ['{"jsonrpc": "2.0", "id": "x", "method": "m", "params": [1]}', 'm', '"x"', '[1]'],
    ['{"method":"m","params":[],"id":null,"jsonrpc":"2.0"}', 'm', 'null', '[]'],
    ['{"id":-0,"method":"m"}', 'm', '-0', undefined],
    ['{"method":"m","params":{}}\n', 'm', undefined, '{}'],
  ] as const) {
    const quick = scanEnvelope(text, text, 0, false);
    assert.ok(quick !== undefined, text);
    assert.equal(quick.method, method);
    assert.equal(quick.id, id);
    assert.equal(quick.start === -1 ? undefined : text.slice(quick.start, quick.end), params);
  }
});

test('exceedsDepth counts as the model does', () => {
  let deep = 0;
  forMutations(body, 600, (text, n) => {
    const model = parseModel(text);
    if (model === undefined) return;
    // Bounds around the true depth: both answers are asked for.
    const maxDepth = Math.max(0, model.depth - 1 + (n % 3));
    if (model.depth > maxDepth) deep++;
    assert.equal(exceedsDepth(text, maxDepth), model.depth > maxDepth, `at ${maxDepth}`);
  });
  assert.ok(deep > 500, String(deep));
});
