import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { toTraceparent, toTracestate } from '../../src/core/dispatch/trace.ts';

/** What https://www.w3.org/TR/trace-context-2/ says of the two headers. */
const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';
const valid = `00-${trace}-${span}-01`;

describe('traceparent', () => {
  const kept = [valid, `00-${trace}-${span}-00`, `00-${trace}-${span}-ff`];
  for (const header of kept) {
    it(`is handed on as it came: ${header}`, () => assert.equal(toTraceparent(header), header));
  }

  const later: [string, string][] = [
    [`01-${trace}-${span}-01`, valid],
    [`cc-${trace}-${span}-01-what-comes-with-a-later-version`, valid],
    [`fe-${trace}-${span}-ff`, `00-${trace}-${span}-03`],
    [`01-${trace}-${span}-00-`, `00-${trace}-${span}-00`],
  ];
  for (const [header, read] of later) {
    it(`of a later version is read as one of this: ${header}`, () => {
      assert.equal(toTraceparent(header), read);
    });
  }

  const refused = [
    '',
    `ff-${valid.slice(3)}`,
    valid.toUpperCase(),
    `${valid}-more`,
    `${valid} `,
    ` ${valid}`,
    `${valid}, ${valid}`,
    `00-${trace}-${span}`,
    `00-${trace}-${span}-1`,
    `00-${trace}-${span}-011`,
    `00-${trace.slice(1)}-${span}-01`,
    `00-${trace}0-${span}-01`,
    `00-${trace}-${span.slice(1)}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `0-${trace}-${span}-01`,
    `00-${trace.replace('0', 'g')}-${span}-01`,
    `00_${trace}_${span}_01`,
    `01-${trace}-${span}-01.more`,
    `00-${trace}-${span}-01\n`,
  ];
  for (const header of refused) {
    it(`is none: ${JSON.stringify(header)}`, () => assert.equal(toTraceparent(header), undefined));
  }
});

describe('tracestate', () => {
  const many = Array.from({ length: 32 }, (_, i) => `k${i}=v`).join(',');
  for (const header of [
    'rojo=00f067aa0ba902b7',
    'rojo=1,congo=t61rcWkgMzE',
    'fw529a3039@dt=FfAxxxx, a=b',
    'a=b,,c=d,\t e=f ',
    '1a=b',
    'a_-*/@=b',
    'a=b c',
    `${'a'.repeat(256)}=${'b'.repeat(256)}`,
    many,
  ]) {
    it(`is handed on: ${header.slice(0, 40)}`, () => assert.equal(toTracestate(header), header));
  }

  for (const header of [
    '',
    ' , ',
    'a',
    'a=',
    '=b',
    'A=b',
    '_a=b',
    'a =b',
    'a=b=c',
    'a=b\u0001',
    'a=é',
    'a=1,b=2,a=3',
    `${'a'.repeat(257)}=b`,
    `a=${'b'.repeat(257)}`,
    `${many},one=more`,
  ]) {
    it(`is none: ${JSON.stringify(header).slice(0, 40)}`, () => {
      assert.equal(toTracestate(header), undefined);
    });
  }
});

describe('a request', () => {
  it('has no tracestate without a valid traceparent', () => {
    const tracestate = 'a=b';
    assert.equal(new RequestScope({ tracestate }).tracestate, undefined);
    assert.equal(new RequestScope({ traceparent: 'x', tracestate }).tracestate, undefined);
    const scope = new RequestScope({ traceparent: valid, tracestate });
    assert.deepEqual([scope.traceparent, scope.tracestate], [valid, 'a=b']);
  });
});
