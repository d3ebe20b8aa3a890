import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errorReply } from '../../src/core/protocol/reply.ts';
import { Operations } from '../../src/extras/openapi/operation.ts';
import { Problems } from '../../src/extras/openapi/problem.ts';
import { Router, Type } from '../../src/index.ts';
import { jsonAnswer, outOfMemory, rejection } from '../../src/server/http/edge/answer.ts';

const router = new Router();
router.rpc(
  {
    name: 'save',
    errors: {
      Taken: { code: 4009, message: 'Taken', data: Type.Object({ by: Type.String() }) },
      Locked: { code: 4010, message: 'Locked', status: 423 },
      Gone: { code: 410, message: 'Gone' },
      Late: { code: 408, message: 'Late' },
      Lost: { code: 411, message: 'Lost', status: 404 },
    },
  },
  () => null,
);
const operation = new Operations(new Map([['save', router.get('save')!]]), [], false).find('save')!;
const problems = new Problems('Bearer');

type Data = Readonly<Record<string, unknown>> | readonly unknown[] | undefined;

function errorText(code: number, data?: Data): string {
  return JSON.stringify({ code, message: 'Said "so"', data });
}

function headersOf(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (let i = 0; i < headers.length; i += 2) found[headers[i]!] = headers[i + 1]!;
  return found;
}

describe('the status of an error', () => {
  const cases: readonly (readonly [
    code: number,
    data: Data,
    status: number,
    retryAfter?: string,
  ])[] = [
    [-32700, undefined, 400],
    [-32600, undefined, 400],
    [-32602, [{ path: '/a' }], 400],
    [-32601, { method: 'x' }, 404],
    [-32601, { method: 'x', reason: 'it streams' }, 406],
    [-32603, { ref: 'r' }, 500],
    [-32000, { reason: 'rate', retryAfterMs: 1001, retry: true }, 429, '2'],
    [-32000, { reason: 'in-flight-per-caller', retryAfterMs: 1000, retry: true }, 429, '1'],
    [-32000, { reason: 'share', retryAfterMs: 1, retry: true }, 429, '1'],
    [-32000, { reason: 'queue', retryAfterMs: 5000, retry: true }, 503, '5'],
    [-32000, { reason: 'in-flight', retryAfterMs: 1000, retry: true }, 503, '1'],
    [-32000, { reason: 'body-memory', retryAfterMs: 1000, retry: true }, 503, '1'],
    [-32001, { timeoutMs: 1 }, 504],
    [-32002, { reason: 'exit', retry: true }, 503, '1'],
    [-32002, { reason: 'exit' }, 500],
    [-32003, { retry: true }, 503, '1'],
    [-32003, { reason: 'shutdown', retryAfterMs: 0, retry: true }, 503, '1'],
    // Thrown by a handler: the call has run.
    [-32000, { reason: 'rate', retryAfterMs: 1000 }, 500],
    [-32003, undefined, 500],
    [-32004, { limit: 5, reason: 'params' }, 413],
    [-32004, { limit: 5 }, 500],
    // Declared.
    [4009, { by: 'ann' }, 422],
    [4010, undefined, 423],
    [410, undefined, 410],
    [408, undefined, 422],
    [411, undefined, 404],
    // Thrown without a declaration.
    [401, undefined, 401],
    [599, undefined, 599],
    [503, undefined, 503, '1'],
    [600, undefined, 422],
    [399, undefined, 422],
    [0, undefined, 422],
    [-32050, undefined, 422],
    ...[407, 421, 425, 426, 431].map((code): [number, Data, number] => [code, undefined, 422]),
  ];
  for (const [code, data, status, retryAfter] of cases) {
    test(`${code} ${JSON.stringify(data) ?? ''}: ${status}`, () => {
      const answer = problems.ofCall(errorText(code, data), operation, []);
      const headers = headersOf(answer.headers);
      assert.equal(answer.status, status);
      assert.equal(headers['retry-after'], retryAfter);
      assert.equal(headers['www-authenticate'], status === 401 ? 'Bearer' : undefined);
      assert.equal(headers['content-type'], 'application/problem+json');
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      const problem = JSON.parse(String(answer.body)) as Record<string, unknown>;
      assert.equal(problem.status, status);
      assert.equal(problem.code, code);
      assert.equal(problem.title, 'Said "so"');
      assert.deepEqual(problem.data, data);
    });
  }

  test('of a caller who is refused is 401, or what the hook says, or that of the service', () => {
    for (const [code, status] of [
      [4010, 401],
      [401, 401],
      [403, 403],
      [429, 429],
      [408, 401],
      [-32603, 500],
      [-32000, 503],
      [-32001, 504],
      [-32003, 503],
    ] as const) {
      assert.equal(
        problems.ofRefusal(errorText(code, { retry: true })).status,
        status,
        String(code),
      );
    }
  });
});

describe('a problem document', () => {
  const problemOf = (code: number, data?: Data): unknown =>
    JSON.parse(String(problems.ofCall(errorText(code, data), operation, []).body));

  test('names an error of this service by a URN, and has its reason as the detail', () => {
    assert.deepEqual(problemOf(-32601, { method: 'x', reason: 'it streams: accept events' }), {
      type: 'urn:tandem-rpc:method-not-found',
      title: 'Said "so"',
      status: 406,
      code: -32601,
      detail: 'it streams: accept events',
      data: { method: 'x', reason: 'it streams: accept events' },
    });
  });

  test('repeats the data to the letter, however long', () => {
    const data = { text: 'x'.repeat(100_000), reason: 'y' };
    const text = `{"code":1,"message":"m","data":{"n":1.0,"e":"\\u00e9"}}`;
    const { body } = problems.ofCall(text, operation, []);
    assert.ok(String(body).endsWith(',"data":{"n":1.0,"e":"\\u00e9"}}'), String(body));
    assert.deepEqual((problemOf(1, data) as { data: unknown }).data, data);
  });

  test('is what the refusals of the HTTP edge become: with their status, headers and close', () => {
    const refused = rejection(405, 'use POST', { headers: ['allow', 'POST'], close: true });
    const answer = problems.reword(refused);
    assert.equal(answer.status, 405);
    assert.equal(answer.close, true);
    const headers = headersOf(answer.headers);
    assert.equal(headers.allow, 'POST');
    assert.equal(headers['content-type'], 'application/problem+json');
    assert.deepEqual(JSON.parse(String(answer.body)), {
      type: 'urn:tandem-rpc:invalid-request',
      title: 'Invalid Request',
      status: 405,
      code: -32600,
      detail: 'use POST',
      data: { reason: 'use POST' },
    });
    const large = JSON.parse(
      String(problems.reword(jsonAnswer(413, errorReply('null', -32004, { limit: 5 }))).body),
    ) as object;
    assert.deepEqual(large, {
      type: 'urn:tandem-rpc:limit-exceeded',
      title: 'Limit exceeded',
      status: 413,
      code: -32004,
      data: { limit: 5 },
    });
    const memory = problems.reword(outOfMemory('bodyMemory'));
    assert.equal(memory.status, 503);
    assert.deepEqual(
      memory.headers.filter((text) => text === 'retry-after'),
      ['retry-after'],
    );
  });

  test('is no answer of a procedure that looks like a refusal', () => {
    const result = rejection(405, 'a result');
    assert.equal(problems.reword({ ...result, status: 200 }).status, 200);
    assert.match(String(problems.reword({ ...result, status: 200 }).body), /^\{"jsonrpc"/);
  });
});
