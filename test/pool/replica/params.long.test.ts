import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BodyMemory } from '../../../src/core/dispatch/body-memory.ts';
import { type Call, unparsed } from '../../../src/core/dispatch/call.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { procedure } from '../../../src/core/procedures/procedure.ts';
import { invalidReply, isInvalid, largeBody, verified } from '../../../src/core/protocol/body.ts';
import { readBody, scanEnvelope } from '../../../src/core/protocol/read.ts';
import { type ReadParams, readParams } from '../../../src/core/workers/replica/replica.ts';
import { FrameBuilder, readFrame } from '../../../src/core/workers/wire/frame.ts';
import { mutate, randomOf, request } from '../../jsonrpc/bodies.ts';
import { cases, seed } from '../../seed.ts';

const scope = new RequestScope();
const called = procedure({ name: 'called' }, () => null);
const limits = { maxDepth: 64, maxBatch: 1000, strict: false };
const options = {
  ...limits,
  checkResults: 'refuse' as const,
  maxReplyBytes: 1000,
  tracing: false,
};

/** What a worker makes of a body of which the main thread has read the envelope alone. */
function readInWorker(source: string | Uint8Array, text: string): ReadParams | undefined {
  const quick = scanEnvelope(text, text, 0, false);
  if (quick === undefined || quick.method === '') return undefined;
  const { id, start, end } = quick;
  const frame = new FrameBuilder(new BodyMemory(2 ** 30, 2 ** 28));
  const params = start === -1 ? undefined : unparsed;
  const call: Call = { procedure: called, id, params, source, start, end, scope };
  frame.add(call, 1, false, false, 1000);
  const [entry] = readFrame(frame.take());
  assert.ok(entry !== undefined);
  return readParams(entry, options);
}

/** What the exact reader makes of it. */
function readExactly(text: string): ReadParams {
  const body = readBody(text, limits);
  if (body.kind === 'reply') return body;
  assert.ok(body.kind === 'single');
  const { entry } = body;
  if (isInvalid(entry)) return { reply: invalidReply(entry), code: entry.code };
  const { id, params, paramsStart, paramsEnd } = entry;
  const isPlace = params === verified;
  const value: unknown = isPlace ? JSON.parse(text.slice(paramsStart, paramsEnd)) : params;
  return { reply: undefined, params: value, id };
}

function checkAll(runs: number, mutations: number, pad: string): number {
  let read = 0;
  fc.assert(
    fc.property(request, fc.integer(), (base, start) => {
      const random = randomOf(start);
      for (let n = 0; n <= mutations; n++) {
        // Blanks are allowed there, and make a body large enough to cross as bytes.
        const text = pad + (n === 0 ? base : mutate(base, random));
        const bytes = Buffer.from(text);
        if (bytes.toString() !== text) continue; // a lone surrogate: no UTF-8 holds it
        for (const got of [
          readInWorker(text, text),
          // Bytes have the offsets of the text where all around the params is ASCII, as a reader of bytes sees.
          bytes.length === text.length ? readInWorker(bytes, text) : undefined,
        ]) {
          if (got === undefined) continue;
          read++;
          assert.deepStrictEqual(got, readExactly(text), text.slice(pad.length));
        }
      }
    }),
    { seed, numRuns: cases(runs), includeErrorInReport: true },
  );
  return read;
}

test('a worker reads the params of a body as the exact reader reads the body', () => {
  const read = checkAll(300, 100, '');
  assert.ok(read > 5000, `${read}`);
});

test('and those of a large body, which crosses as bytes', () => {
  const read = checkAll(25, 10, ' '.repeat(largeBody));
  assert.ok(read > 40, `${read}`);
});
