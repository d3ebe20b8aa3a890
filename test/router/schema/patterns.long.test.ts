import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  bytesAround,
  lengthNeededBy,
  maxStepsPerByte,
  patternFault,
} from '../../../src/core/schema/patterns.ts';
import { cases, seed } from '../../seed.ts';
import { alphabet, Backtracker, patterns, textOf } from './backtracker.ts';

/** Patterns that people write: none may be refused. */
const ordinary = String.raw`
^[a-z]+$
^[a-z0-9-]{1,64}$
^[a-z0-9]+(?:-[a-z0-9]+)*$
^[^@]+@[^@]+\.[a-z]+$
^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$
^[\w.+-]+@[\w-]+\.[\w.-]+$
^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$
^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$
[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
^\d{4}-\d{2}-\d{2}$
^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))?$
^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$
^v?\d+\.\d+\.\d+$
^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$
^https?://\S+$
^https?:\/\/[^\s/$.?#].[^\s]*$
^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$
^s3://[a-z0-9.-]{3,63}/.+$
^(?:/[^/]+)+$
^#(?:[0-9a-fA-F]{3}){1,2}$
^#?([a-f0-9]{6}|[a-f0-9]{3})$
^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$
^([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}$
^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[@$!%*?&])[A-Za-z\d@$!%*?&]{8,}$
^(?=.*[A-Z])(?=.*\d).{8,64}$
^(?!-)[a-z0-9-]{1,63}(?<!-)$
^\+[1-9]\d{1,14}$
^-?[0-9]+$
^\$?\d{1,3}(?:,\d{3})*(?:\.\d{2})?$
^(?:\d{4}[- ]?){3}\d{4}$
^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$
^[A-Za-z0-9-_]+\.[A-Za-z0-9-_]+\.[A-Za-z0-9-_]*$
^[0-9A-HJKMNP-TV-Z]{26}$
^[a-f\d]{24}$
^c[^\s-]{8,}$
^.{1,10000}$
^[\s\S]{0,65535}$
^[^<>]*$
^\s*\S[\s\S]*$
^(?:[a-z]{1,63}\.){1,127}[a-z]{2,63}$
^[a-z]{2}(?:-[A-Z]{2})?$
^(['"]).*?\1$
^(?<n>a)\k<n>$
^(GET|POST|PUT|DELETE)$
^[\p{L} ]+$
^\p{Lu}[\p{L}\p{M}'’ -]*$
^[\p{Extended_Pictographic}\p{Emoji_Component}]+$
^p-
foo|bar
[a-z]+
\S
(?=a)b`
  .split('\n')
  .slice(1);

describe('patternFault', () => {
  test('passes the patterns that people write: emails, slugs, uuids, dates, versions, urls, colours', () => {
    for (const pattern of ['', ...ordinary])
      assert.equal(patternFault(pattern), undefined, pattern);
    const codes = Array.from({ length: 250 }, (_, at) => (at + 370).toString(36));
    assert.equal(patternFault(`^(?:${codes.join('|')})$`), undefined);
  });

  test('refuses nested and overlapping repeats, and many choices', () => {
    for (const pattern of [
      '^(a+)+$',
      '^(a|a)*$',
      '^(\\w+\\s?)+$',
      '(a|a){60}$',
      '(a?){60}$',
      'a\\{2\\}(b+)+$',
      '^(?:|){30}$',
      'a(?:|){30}b',
      '(?=(?:|){30}b)',
      '(?<=(a+)+)b',
      '^(a+)\\1+$',
      '^a{0,50}a{0,50}a{0,50}$',
      '^(a{0,20}){0,20}$',
      // A string with no match in it takes long, though another one that leads to more attempts ends at a match.
      '.*[ab][^b]{2,5}.',
    ]) {
      assert.match(patternFault(pattern, 1000)!, /backtracks: .*64 steps.*rewrite it/, pattern);
    }
  });

  test('counts repeats written out, and each place at which a search may begin', () => {
    assert.match(patternFault('a?a?a?a?a?a?a?a?a{999}b')!, /backtracks/);
    assert.match(patternFault('a{999}b')!, /; anchor it with \^, or .*maxLength of at most 127$/);
    assert.equal(patternFault('^a{999}b'), undefined);
    assert.equal(patternFault('a{50}b'), undefined);
    assert.match(patternFault('a{5000}b')!, /maxLength of at most 127$/);
  });

  test('names what mends a pattern, and nothing that does not', () => {
    assert.match(patternFault('\\s+$')!, /; anchor it with \^, or rewrite it.*at most 127$/);
    assert.match(patternFault('^a*a*$')!, /; rewrite it without .*, or give .*at most 127$/);
    assert.match(patternFault('^(a+)+$')!, /; rewrite it without nested or overlapping repeats$/);
    assert.match(patternFault('(?:(?:){999}){999}')!, /4000 parts/);
    assert.match(patternFault('('.repeat(201) + ')'.repeat(201))!, /nest too deep/);
  });

  test('takes a maxLength into account', () => {
    assert.equal(patternFault('\\s+$', 127), undefined);
    assert.notEqual(patternFault('\\s+$', 128), undefined);
    assert.equal(patternFault('a{999}b', 127), undefined);
    assert.equal(patternFault('a.*b.*c', 16), undefined);
    assert.notEqual(patternFault('a.*b.*c', 1000), undefined);
  });

  test('reads patterns as RegExp does with the flag u', () => {
    for (const [pattern, text] of [
      ['\\x61', 'a'],
      ['\\u0061', 'a'],
      ['\\u{61}', 'a'],
      ['\\cA', '\u0001'],
      ['[\\cA]', '\u0001'],
      ['[\\b]', '\b'],
      ['[\\d\\-x]', '-'],
      ['[^\\D]', '5'],
      ['\\{', '{'],
      ['[\\]]', ']'],
      ['[^]', '\n'],
      ['.', '\u00a0'],
      ['.', '😀'],
      ['[😀-😂]', '😁'],
      ['\\ud83d\\ude00', '😀'],
      ['\\ud83d', '\ud83d'],
      ['[^a]', '😀'],
      ['\\D', '😀'],
      ['\\p{L}', 'ß'],
      ['\\p{Script=Greek}', 'α'],
      ['\\P{L}', '😀'],
      ['[^\\p{L}]', '1'],
      ['\\p{Extended_Pictographic}', '😀'],
      ['\\s', '\ufeff'],
      ['\\0', '\0'],
      ['\\t', '\t'],
      ['a😀{2}', 'a😀😀'],
    ] as const) {
      assert.match(text, new RegExp(`^(?:${pattern})$`, 'u'));
      const points = Array.from(text, (point) => `\\u{${point.codePointAt(0)!.toString(16)}}`);
      // Two ways to match one text are exponential: the pattern was read as what matches the text.
      const twice = `^(?:${pattern}|${points.join('')})*$`;
      assert.notEqual(patternFault(twice), undefined, twice);
    }
    for (const pattern of ['\\u{61}', '\\p{Lu}', '\\d', '[^b]', '\\ud83d', '[\\ud83d]', '\\P{L}'])
      assert.equal(patternFault(`^(?:${pattern}|b)*$`), undefined, pattern);
    assert.equal(patternFault('^(?:\\p{Ll}+\\p{Lu})*$'), undefined);
    assert.notEqual(patternFault('^(?:\\p{Ll}+\\p{L})*$'), undefined);
  });

  test('knows the characters of each class as RegExp does', () => {
    const classes = [
      '.',
      '\\d',
      '\\D',
      '\\w',
      '\\W',
      '\\s',
      '\\S',
      '\\p{L}',
      '\\P{Lu}',
      '[^\\p{N}-]',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...classes),
        fc.oneof(fc.integer({ min: 0, max: 0x10ffff }), fc.integer({ min: 0, max: 0x2fff })),
        (source, point) => {
          const text = `\\u{${point.toString(16)}}`;
          // Both ways match the character, or only one of them does.
          const isMatched = new RegExp(`^${source}$`, 'u').test(String.fromCodePoint(point));
          assert.equal(patternFault(`^(?:${source}|${text})*$`) !== undefined, isMatched, text);
        },
      ),
      { seed, numRuns: cases(60) },
    );
  });

  test('proposes a format for patterns that are at fault', () => {
    for (const [pattern, format] of [
      ['^([\\w.]+)+@([\\w]+\\.)+\\w+$', 'email'],
      ['^https?://(\\w+\\.?)+$', 'uri'],
      ['^([0-9a-f]+)+{8}-x{4}-y{12}$', undefined],
      ['^(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-)+[0-9a-f]{12})+(?:x+)+$', 'uuid'],
      ['^\\d{4}-\\d{2}-\\d{2}T(\\d+:?)+$', 'date-time'],
      ['^(\\d{4}-\\d{2}-\\d{2},?|\\d+)+$', 'date'],
      ['^((25[0-5]|\\d+)\\.?)+$', 'ipv4'],
      ['^([@a]+)+$', undefined],
    ] as const) {
      const named = /declare the format "(.*)" instead/.exec(patternFault(pattern) ?? '')?.[1];
      assert.equal(named, format, pattern);
    }
  });

  test('refuses a pattern of any size soon', () => {
    const code = (point: number): string => `\\u{${point.toString(16)}}`;
    const classes = Array.from(
      { length: 2000 },
      (_, at) => `[\\0-${code(at + 99)}${code(at + 5000)}${code(at + 9000)}]`,
    );
    for (const [pattern, why] of [
      ['a'.repeat(5000), /4000 parts/],
      ['(?:a|b)*'.repeat(1500), /4000 parts|backtracks/],
      [classes.join(''), /too many characters apart/],
      ['(?:'.repeat(20_000) + ')'.repeat(20_000), /could not be shown/],
    ] as const)
      assert.match(patternFault(pattern)!, why);
  });

  test('says which maxLength a pattern of polynomial time needs', () => {
    for (const pattern of [
      'foo.*bar',
      '^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$',
      '\\s+$',
      '^a*a*$',
      'a{999}b',
    ]) {
      const needed = lengthNeededBy(pattern)!;
      assert.equal(patternFault(pattern, needed), undefined);
      assert.notEqual(patternFault(pattern, needed + 1), undefined);
      assert.ok(needed >= 100, `${needed}`);
    }
    assert.equal(lengthNeededBy('foo.*bar'), 117);
    for (const pattern of ['^a+$', '^(a+)+$', '(', 'foo'])
      assert.equal(lengthNeededBy(pattern), undefined, pattern);
  });

  test('allows no pattern more steps than 64 for each byte of a string', () => {
    // The V8 of Node 26 does not find a character above U+FFFF by a negated class before the end.
    const isFound = /[^b]$/u.test('😀');
    const units = isFound ? alphabet : alphabet.filter((unit) => unit.length === 1);
    const words = fc
      .array(
        fc.tuple(
          fc.array(fc.constantFrom(...units), { minLength: 1, maxLength: 4 }),
          fc.integer({ min: 1, max: 25 }),
        ),
        { maxLength: 4 },
      )
      .map((runs) => runs.map(([units, count]) => units.join('').repeat(count)).join(''));
    let taken = 0;
    fc.assert(
      fc.property(patterns, fc.array(words, { minLength: 20, maxLength: 20 }), (pattern, texts) => {
        const source = textOf(pattern);
        const fault = patternFault(source);
        const longest = Number(/maxLength of at most (\d+)/.exec(fault ?? '')?.[1] ?? 0);
        if (fault === undefined) taken += 1;
        for (const whole of texts) {
          const points = Array.from(whole).slice(0, fault === undefined ? 150 : longest);
          // What looks behind may read each character again.
          const times = source.includes('(?<') ? 2 : 1;
          const most = maxStepsPerByte * (times * points.length + bytesAround);
          const text = points.join('');
          const found = new RegExp(source, 'u').test(text);
          const matcher = new Backtracker(pattern, points, most);
          assert.equal(matcher.isFound(), found, `${source} ${text}`);
        }
      }),
      { seed, numRuns: cases(40) },
    );
    assert.ok(taken > cases(40) / 2, `${taken}`);
  });
});
