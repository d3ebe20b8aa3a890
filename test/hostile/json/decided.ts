import { decide, type JsonCase } from './case.ts';

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const utf16 = (text: string) => [...Buffer.from(text, 'utf16le')];

/** What RFC 8259 leaves to who reads it, and docs/protocol.md decides. */
export const decided: readonly JsonCase[] = [
  decide('rounded', 'number-beyond-safe', '9007199254740993'),
  decide('rounded', 'number-beyond-safe-negative', '-9007199254740993'),
  decide('rounded', 'number-twenty-digits', '12345678901234567890'),
  decide('rounded', 'number-2-to-64', '18446744073709551616'),
  decide('rounded', 'number-thousand-digits-of-fraction', `0.${'3'.repeat(1000)}`),
  decide('rounded', 'number-underflow', '1e-400'),
  decide('rounded', 'number-underflow-negative', '-1e-400'),
  decide('rounded', 'number-tiny-exponent', `1e-${'9'.repeat(30)}`),
  decide('rounded', 'number-zero-exponent-huge', `0e${'9'.repeat(30)}`),
  decide('rounded', 'number-minus-zero', '-0'),
  decide('rounded', 'number-minus-zero-fraction', '-0.0'),
  decide('rounded', 'number-tenth', '0.1000000000000000055511151231257827'),
  decide('infinite', 'number-overflow', '1e400'),
  decide('infinite', 'number-overflow-negative', '-1e400'),
  decide('infinite', 'number-exponent-huge', `1e${'9'.repeat(30)}`),
  decide('infinite', 'number-four-hundred-digits', '9'.repeat(400)),

  decide('last wins', 'object-same-name-twice', '{"a":1,"a":2}'),
  decide('last wins', 'object-same-name-escaped', '{"a":1,"\\u0061":2}'),
  decide('last wins', 'object-same-member-twice', '{"a":1,"a":1}'),
  decide('last wins', 'object-same-name-of-other-kinds', '{"a":{"b":1},"c":0,"a":[]}'),
  decide('last wins', 'object-proto-twice', '{"__proto__":1,"__proto__":{"a":2}}'),
  decide('last wins', 'object-empty-name-twice', '{"":1,"":2}'),

  decide('as written', 'string-lone-high-surrogate', '"\\ud800"'),
  decide('as written', 'string-lone-low-surrogate', '"\\udc00"'),
  decide('as written', 'string-surrogates-turned', '"\\udc00\\ud800"'),
  decide('as written', 'string-high-surrogate-then-letter', '"\\ud800a"'),
  decide('as written', 'string-two-high-surrogates', '"\\ud800\\ud800\\udc00"'),
  decide('as written', 'string-surrogate-then-escape', '"\\ud800\\n"'),
  decide('as written', 'name-lone-surrogate', '{"\\udfff":1}'),

  decide('too deep', 'array-depth-63', nested(63)),
  decide('too deep', 'array-depth-64', nested(64)),
  decide('too deep', 'array-depth-500', nested(500)),
  // With the other params it stays below maxInlineParamsBytes.
  decide('too deep', 'array-depth-50000', nested(50_000)),
  decide('too deep', 'object-depth-100', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`),
  decide('too deep', 'mixed-depth-100', `${'[{"a":'.repeat(50)}1${'}]'.repeat(50)}`),
  decide('too deep', 'deep-behind-wide', `[${'[],'.repeat(100)}${nested(70)}]`),

  decide('UTF-16', 'utf16-little-end', utf16('{"a":1}')),
  decide('UTF-16', 'utf16-little-end-marked', utf16('\ufeff{"a":1}')),
  decide('UTF-16', 'utf16-big-end', [...Buffer.from(utf16('["é"]')).swap16()]),
  decide('no byte order mark', 'byte-order-mark', '\ufeff[1]'),
  decide('no byte order mark', 'byte-order-mark-alone', '\ufeff'),
  decide('no byte order mark', 'byte-order-mark-before-blank', '\ufeff {}'),
  decide('no byte order mark', 'byte-order-mark-behind', '1\ufeff'),
];
