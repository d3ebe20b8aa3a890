import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { bytesAround, maxStepsPerByte, patternFault } from '../../../src/core/schema/patterns.ts';
import { moduleUrl } from '../../files.ts';
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
      'a\\{2}(b+)+$',
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
    assert.match(patternFault('[')!, /no regular expression/);
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

  test('reads patterns as RegExp does without flags', () => {
    for (const [pattern, text] of [
      ['\\x61', 'a'],
      ['\\u0061', 'a'],
      ['\\141', 'a'],
      ['\\cA', '\u0001'],
      ['[\\cA]', '\u0001'],
      ['\\c', '\\c'],
      ['[\\c]', 'c'],
      ['[\\b]', '\b'],
      ['\\p', 'p'],
      ['\\8', '8'],
      ['[\\d-x]', '-'],
      ['[^\\D]', '5'],
      ['{', '{'],
      ['a{,2}', 'a{,2}'],
      [']', ']'],
      ['\\-', '-'],
      ['[^]', '\n'],
      ['.', '\u00a0'],
      ['\\s', '\ufeff'],
      ['\\k', 'k'],
      ['\\1', '\u0001'],
      ['\\t', '\t'],
    ] as const) {
      assert.match(text, new RegExp(`^(?:${pattern})$`));
      const units = text.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
      // Two ways to match one text are exponential: the pattern was read as what matches the text.
      const twice = `^(?:${pattern}|${units.map((unit) => `\\u${unit}`).join('')})*$`;
      assert.notEqual(patternFault(twice), undefined, twice);
    }
    assert.equal(patternFault('^(?:\\u{61}|b)*$'), undefined);
    assert.equal(patternFault('^[\\w-a]+$'), undefined);
  });

  test('allows no pattern more steps than 64 for each byte of a string', () => {
    const words = fc
      .array(
        fc.tuple(
          fc.array(fc.constantFrom(...alphabet), { minLength: 1, maxLength: 4 }),
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
          const text = whole.slice(0, fault === undefined ? 150 : longest);
          // What looks behind may read each character again.
          const times = source.includes('(?<') ? 2 : 1;
          const most = maxStepsPerByte * (times * text.length + bytesAround);
          const matcher = new Backtracker(pattern, most);
          assert.equal(matcher.search(text), new RegExp(source).test(text), `${source} ${text}`);
        }
      }),
      { seed, numRuns: cases(500) },
    );
    assert.ok(taken > cases(500) / 2, `${taken}`);
  });

  test('a replica may trust the main thread, which has checked', async () => {
    const url = `${moduleUrl('src/core/schema/patterns.ts')}?replica`;
    const replica = (await import(url)) as typeof import('../../../src/core/schema/patterns.ts');
    assert.match(replica.patternFault('^(a+)+$')!, /backtracks/);
    replica.trustPatterns();
    assert.equal(replica.patternFault('^(a+)+$'), undefined);
  });
});
