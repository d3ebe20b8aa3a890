import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  bytesFromJson,
  isBodyFault,
  withBody,
  withMembers,
} from '../../src/extras/openapi/body.ts';

const head = '{"jsonrpc":"2.0","id":1,"method":"m","params":';

/** The params of the request that a body becomes, or the code of its refusal. */
function paramsOf(body: string | Uint8Array, maxDepth = 30): unknown {
  const made = withBody(head, body, maxDepth);
  if (isBodyFault(made)) return made.code;
  const text = typeof made === 'string' ? made : Buffer.from(made).toString();
  return (JSON.parse(text) as { params: unknown }).params;
}

describe('a body as params', () => {
  const cases: readonly (readonly [body: string, params: unknown])[] = [
    ['', {}],
    ['{}', {}],
    [' \t\r\n{"a":1} \n', { a: 1 }],
    ['{"a":{"b":["}"]},"c":"\\"}"}', { a: { b: ['}'] }, c: '"}' }],
    // No object.
    ['[1,2]', -32600],
    ['null', -32600],
    ['1', -32600],
    ['"{}"', -32600],
    // Not JSON.
    [' ', -32700],
    ['{', -32700],
    ['{}}', -32700],
    ['{}{}', -32700],
    ['{"a":1},"method":"reset"', -32700],
    ['{"a":1},"x":1', -32700],
    ['{"a":1}/**/', -32700],
    ['{a:1}', -32700],
    ["{'a':1}", -32700],
    ['{"a":01}', -32700],
    ['{"a":1,}', -32700],
    ['\ufeff{}', -32700],
    ['{}\0', -32700],
    ['\u00a0{}', -32700],
  ];
  for (const [body, params] of cases) {
    test(JSON.stringify(body), () => {
      assert.deepEqual(paramsOf(body), params);
      assert.deepEqual(paramsOf(Buffer.from(body)), params);
      // A large body stays bytes.
      if (body === '') return;
      const blanks = ' '.repeat(70_000);
      assert.deepEqual(paramsOf(Buffer.from(body + blanks)), params);
    });
  }

  test('is UTF-8', () => {
    const broken = Buffer.from('{"a":"\u00e9"}', 'latin1');
    assert.equal(paramsOf(broken), -32700);
    assert.equal(paramsOf(Buffer.concat([broken, Buffer.alloc(70_000, ' ')])), -32700);
  });

  test('is no deeper than the request may be', () => {
    const nested = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    assert.deepEqual(paramsOf(nested(2), 3), { a: [[]] });
    assert.equal(paramsOf(nested(3), 3), -32700);
  });
});

describe('bytes', () => {
  test('of a body are a param beside those of the query', () => {
    const bytes = Uint8Array.of(0, 255, 1);
    const made = JSON.parse(withMembers(head, '"id":1', 'data', bytes)) as { params: unknown };
    assert.deepEqual(made.params, { id: 1, data: 'AP8B' });
    const alone = JSON.parse(withMembers(head, '', 'da"ta', new Uint8Array())) as {
      params: unknown;
    };
    assert.deepEqual(alone.params, { 'da"ta': '' });
  });

  test('of a result are what its base64 stands for', () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i % 256);
    const json = JSON.stringify(Buffer.from(bytes).toString('base64'));
    assert.deepEqual(new Uint8Array(bytesFromJson(json)), bytes);
    assert.deepEqual(new Uint8Array(bytesFromJson(Buffer.from(json))), bytes);
    assert.equal(bytesFromJson('""').byteLength, 0);
  });
});
