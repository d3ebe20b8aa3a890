import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bodyKindOf, headerType, preferredType } from '../../src/extras/openapi/accept.ts';

describe('Accept', () => {
  const offered = ['image/png', 'application/octet-stream', 'application/json'];
  const cases: readonly (readonly [accept: string | undefined, type: string | undefined])[] = [
    [undefined, 'image/png'],
    ['', 'image/png'],
    ['*/*', 'image/png'],
    ['image/*', 'image/png'],
    ['IMAGE/PNG', 'image/png'],
    ['application/octet-stream', 'application/octet-stream'],
    ['application/json', 'application/json'],
    // What axios sends: any type is welcome, so the own one comes.
    ['application/json, text/plain, */*', 'image/png'],
    ['application/json, */*;q=0.5', 'application/json'],
    ['application/*', 'application/octet-stream'],
    ['image/png;q=0.2, application/json;q=0.3', 'application/json'],
    ['image/*;q=0, */*', 'application/octet-stream'],
    ['text/html', undefined],
    ['application/problem+json', 'image/png'],
    ['application/problem+json, text/html', undefined],
    ['image/png;q=0', undefined],
    ['image/png;level=1', 'image/png'],
    ['image/png ; q=1.000', 'image/png'],
    // A weight that is none counts as if nothing were said.
    ['image/png;q=x', 'image/png'],
    ['text/html;x="a,b", application/json', 'application/json'],
    ['application/json, "', 'image/png'],
    [',, application/json,', 'application/json'],
    // An exact type counts before its family, and that before any type.
    ['application/json;q=0, image/png;q=0, image/*, application/*', 'application/octet-stream'],
    ['application/*;q=0, image/*;q=0, */*', undefined],
  ];
  for (const [accept, type] of cases) {
    test(`${accept}: ${type ?? 'none'}`, () => assert.equal(preferredType(accept, offered), type));
  }
});

describe('Content-Type', () => {
  test('of bytes is their own, a range, or that of any bytes', () => {
    const cases: readonly (readonly [range: string | undefined, type: string, taken: boolean])[] = [
      ['image/*', 'image/png', true],
      ['image/*', 'application/octet-stream', true],
      ['image/*', 'text/html', false],
      ['image/*', 'imagex/png', false],
      ['image/png', 'image/png', true],
      ['Image/PNG', 'image/png', true],
      ['text/csv; charset=utf-8', 'text/csv', true],
      ['image/png', 'image/jpeg', false],
      [undefined, 'video/mp4', true],
      ['*/*', 'video/mp4', true],
      // Pages of any origin may send these without asking.
      [undefined, 'text/plain', false],
      [undefined, 'multipart/form-data', false],
      [undefined, 'application/x-www-form-urlencoded', false],
      ['text/plain', 'text/plain', false],
      ['text/plain', 'application/octet-stream', true],
      ['text/*', 'text/plain', false],
      // JSON is always the params themselves.
      [undefined, 'application/json', false],
    ];
    for (const [range, type, taken] of cases) {
      const kind = bodyKindOf(type, { name: 'data', mediaType: range });
      assert.equal(kind === 'bytes', taken, `${range}: ${type}`);
      assert.notEqual(bodyKindOf(type, undefined), 'bytes');
    }
  });

  test('that is declared stands in a header only if it is one type, without line breaks', () => {
    assert.equal(headerType('image/png'), 'image/png');
    assert.equal(headerType('text/csv; charset=utf-8'), 'text/csv; charset=utf-8');
    for (const declared of [
      undefined,
      'image/*',
      'png',
      'image/png\r\nset-cookie: a=b',
      'image/png;é',
    ]) {
      assert.equal(headerType(declared), undefined, declared);
    }
  });
});
