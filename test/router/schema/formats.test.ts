import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FormatRegistry, Type } from '@sinclair/typebox';
import fc from 'fast-check';
import { procedure } from '../../../src/index.ts';
import { cases, seed } from '../../seed.ts';

/** The first schema of a procedure registers the formats with TypeBox. */
const register = () => procedure({ params: Type.Object({}) }, () => null);
const knownFormats = () => [...FormatRegistry.Entries().keys()].sort();

register();

/** From RFC 3339, 5321, 1123, 3986, 3987, 4291, 4122, 4648, 6570 and 6901. */
const table: Record<string, { valid: string[]; invalid: string[] }> = {
  date: {
    valid: ['2024-02-29', '1999-12-31', '2000-02-29'],
    invalid: [
      '2023-02-29',
      '1900-02-29',
      '2024-13-01',
      '2024-00-10',
      '2024-04-31',
      '2024-1-1',
      '2024-01-00',
      '',
    ],
  },
  time: {
    valid: ['00:00:00Z', '23:59:59.123+05:30', '23:59:60Z', '15:59:60-08:00', '12:00:00z'],
    invalid: [
      '24:00:00Z',
      '12:60:00Z',
      '12:00:61Z',
      '12:00:60Z',
      '12:00:00',
      '12:00Z',
      '12:00:00+24:00',
    ],
  },
  'date-time': {
    valid: ['1985-04-12T23:20:50.52Z', '1990-12-31T15:59:60-08:00', '1985-04-12t23:20:50z'],
    invalid: ['1985-04-12 23:20:50Z', '1985-04-12', '1985-04-31T23:20:50Z', '1985-04-12T23:20:50'],
  },
  duration: {
    valid: [
      'P1Y2M3DT4H5M6S',
      'PT36H',
      'P4W',
      'P1D',
      'P1Y2M',
      'P1M2D',
      'PT1H2M',
      'PT1M2S',
      'P01DT0S',
    ],
    invalid: [
      'P',
      'PT',
      'P1S',
      '1D',
      'P1DT',
      'P1W1D',
      'P1Y2D',
      'PT1H2S',
      'P2D1Y',
      'P1Y2W',
      'P1WT1H',
      'PT0.5S',
      'PT0,5S',
      '-P1D',
      'P-1D',
      'P1e2D',
      'P1D2T3H',
      'P1',
      ' P1D',
      'P1D\n',
      'P২Y',
      '',
    ],
  },
  email: {
    valid: [
      'a@b.com',
      'first.last+tag@sub.example.org',
      `${'a'.repeat(64)}@example.com`,
      '"joe bloggs"@example.com',
      '"joe..bloggs"@example.com',
      '"joe@bloggs"@example.com',
      '"a\\"b\\\\"@example.com',
      '""@example.com',
      'a@[127.0.0.1]',
      'a@[IPv6:::1]',
      'a@[ipv6:2001:db8::1]',
    ],
    invalid: [
      'a',
      '@b.com',
      'a@',
      'a..b@c.com',
      '.a@b.com',
      'a b@c.com',
      `${'a'.repeat(65)}@b.com`,
      'a@-b.com',
      'a@b_c.com',
      '"a"b@c.com',
      '"a"b"@c.com',
      '"a\\"@c.com',
      '"é"@c.com',
      '"a\n"@c.com',
      'a@[127.0.0.300]',
      'a@[::1]',
      'a@[IPv6:1.2.3.4]',
      'a@[x:y]',
      'a@[]',
      'a@[127.0.0.1',
      'a@b.com, c@d.com',
    ],
  },
  hostname: {
    valid: ['localhost', 'a-b.example.com', '3com.com', `${'a'.repeat(63)}.com`],
    invalid: [
      '',
      '-a.com',
      'a-.com',
      'a..com',
      `${'a'.repeat(64)}.com`,
      'a_b.com',
      'é.com',
      Array(130).fill('ab').join('.'),
    ],
  },
  ipv4: {
    valid: ['127.0.0.1', '255.255.255.255'],
    invalid: ['256.0.0.1', '1.2.3', '01.2.3.4', '1.2.3.4.5', '::1'],
  },
  ipv6: {
    valid: ['::1', '2001:db8::8a2e:370:7334', '::ffff:1.2.3.4'],
    invalid: ['1.2.3.4', 'fe80::1%eth0', ':::', '2001:db8::g', '1:2:3:4:5:6:7:8:9'],
  },
  uri: {
    valid: [
      'http://example.com/a?b=c#d',
      'urn:isbn:0451450523',
      'mailto:a@b.c',
      'http://[::1]:80/',
      'ftp://u:p@h/x%20y',
      'file:///etc',
    ],
    invalid: [
      '/relative',
      'example.com',
      'http://a b',
      'http://a/%zz',
      '://x',
      '1http://x',
      'http://[::1',
      'http://h:8x/',
      'http://é.com',
      'a:b#c#d',
      'http://[::1]x/',
    ],
  },
  'uri-reference': {
    valid: ['', '/a/b', '../c?d', '#frag', '//host/x', 'http://example.com', 'a/b:c'],
    invalid: ['a b', '%', '1a:b', '\\a'],
  },
  url: {
    valid: ['https://example.com/x', 'http://localhost:8080'],
    invalid: ['mailto:a@b.c', 'https://', 'javascript:alert(1)', 'http:/x'],
  },
  iri: {
    valid: [
      'http://ƒøø.ßår/?∂éœ=πîx#πîüx',
      'http://example.com/',
      'http://[2001:db8::1]',
      'http://ø.example/\u{10300}',
      'http://ø.example/?\ue000\u{f0000}#é',
      'urn:é',
    ],
    invalid: [
      '/abc',
      'âππ',
      'é:b',
      '\\\\WINDOWS\\filëßåré',
      'http://2001:db8::1',
      'http://ø.example/\n',
      'http://ø.example/\ue000',
      'http://ø.example/#?\ue000',
      'http://ø.example/\ufdd0',
      'http://ø.example/\u{1ffff}',
      'http://ø.example/\u202e',
      'http://ø.example/\ud800',
      'http://ø.example:é/',
      'http://[é]/',
    ],
  },
  'iri-reference': {
    valid: ['', '//ƒøø.ßår/?∂éœ=πîx#πîüx', '/âππ', 'âππ', '#ƒrägmênt', 'http://é@ø.example'],
    invalid: ['\\\\WINDOWS\\filëßåré', '#ƒräg\\mênt', 'é:b', 'é b', '/\ue000', 'é%'],
  },
  'uri-template': {
    valid: [
      '',
      'http://example.com/{term:1}/{term}',
      '{+v}',
      '{#v}',
      '{.v}',
      '{/v}',
      '{;v}',
      '{?v}',
      '{&v}',
      '{v*}',
      '{x,y}',
      '{a.b}',
      '{%41}',
      '{v:1000}',
      'a%41b',
      "a'b",
      'é😀',
    ],
    invalid: [
      '{term',
      'term}',
      '{}',
      '{+}',
      '{a,,b}',
      '{a,}',
      '{v:0}',
      '{v:01}',
      '{v:10000}',
      '{a..b}',
      '{.a.}',
      '{v=d}',
      '{,+v}',
      '{é}',
      '{a{b}}',
      '{%4}',
      'a b',
      'a"b',
      'a\\b',
      '%{a}41',
      '',
      '{a*:1}',
      '{a b}',
      '\ud800',
    ],
  },
  uuid: {
    valid: ['123e4567-e89b-12d3-a456-426614174000', '123E4567-E89B-12D3-A456-426614174000'],
    invalid: ['123e4567e89b12d3a456426614174000', '123e4567-e89b-12d3-a456-42661417400g', ''],
  },
  byte: {
    valid: ['', 'QQ==', 'QUI=', 'QUJD', '+/+/'],
    invalid: ['Q', 'QQ=', 'QQ===', 'Q=Q=', '-_-_', 'QUJ D', 'QUJD\n'],
  },
  base64: { valid: ['QUJD'], invalid: ['====', 'QUJ'] },
  base64url: { valid: ['', 'QQ', '-_-_'], invalid: ['Q', '+/+/', 'QQ=='] },
  'json-pointer': { valid: ['', '/a/b', '/a~0b~1c', '/'], invalid: ['a', '/~', '/~2'] },
  'relative-json-pointer': {
    valid: ['0', '1', '120/foo/bar', '0#', '2/0/baz~0/1', '0//', '1+2/a', '0-1#'],
    invalid: [
      '',
      '/a',
      '-1/a',
      '+1/a',
      '01/a',
      '01#',
      '0##',
      '1#/a',
      '0/~2',
      '1\n',
      '1+0',
      '1+',
      '١/a',
    ],
  },
  regex: {
    valid: ['^a+$', '\\p{L}', '\\P{Script=Greek}', '\\\\\\w', 'a'.repeat(4096)],
    invalid: ['(', '[z-a]', '\\p{Lx}', '\\p{}', '\\p{L', '[a-\\p{L}]', '\\', 'a'.repeat(4097)],
  },
};

describe('formats', () => {
  test('every registered one is in this table', () => {
    assert.deepEqual(knownFormats(), Object.keys(table).sort());
  });

  for (const [name, { valid, invalid }] of Object.entries(table)) {
    test(name, () => {
      const check = FormatRegistry.Get(name)!;
      for (const value of valid)
        assert.equal(check(value), true, `${name} takes ${JSON.stringify(value)}`);
      for (const value of invalid)
        assert.equal(check(value), false, `${name} refuses ${JSON.stringify(value)}`);
    });
  }

  test('none throws on, or hangs at, long strings of one character', () => {
    for (const name of knownFormats()) {
      for (const unit of [
        'a',
        '0',
        '=',
        ':',
        '/',
        '.',
        '%',
        '-',
        '1D',
        '~0',
        '(',
        'P1',
        '{',
        '{a',
        '{a}',
        'é',
        '?',
        '1+',
      ]) {
        assert.equal(typeof FormatRegistry.Get(name)!(unit.repeat(50_000)), 'boolean');
      }
    }
  });

  test('regex takes what RegExp compiles with the flag u', () => {
    const parts =
      '\\ p P { } L Script=Greek w D [ ] ^ a - ( ) ?<n> \\k<n> * {1,2} | \\u{1F600} \\cA'.split(
        ' ',
      );
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 8 }), (chosen) => {
        const text = chosen.join('');
        const compile = () => new RegExp(text, 'u');
        if (FormatRegistry.Get('regex')!(text)) assert.doesNotThrow(compile);
        else assert.throws(compile, SyntaxError);
      }),
      { seed, numRuns: cases(1000) },
    );
  });

  test('one that the program has set stays', () => {
    const own = (): boolean => true;
    const before = FormatRegistry.Get('uuid')!;
    FormatRegistry.Set('uuid', own);
    register();
    assert.equal(FormatRegistry.Get('uuid'), own);
    FormatRegistry.Set('uuid', before);
  });
});
