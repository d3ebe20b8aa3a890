import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { patternFault } from '../../../src/router/schema/patterns.ts';
import { moduleUrl } from '../../files.ts';

describe('patternFault', () => {
  test('passes patterns that take linear time', () => {
    for (const pattern of [
      '^[a-z]+$',
      '^\\d{3}-\\d{4}$',
      '^[^@]+@[^@]+\\.[a-z]+$',
      '(?=a)b',
      '^(?<n>a)\\k<n>$',
      '',
    ]) {
      assert.equal(patternFault(pattern), undefined, pattern);
    }
  });

  test('passes patterns of a fixed form without the checker, and hands it all others', () => {
    for (const pattern of ['^(on|off)-line$', '^p-', '^[A-Z]{2}-[0-9]{3}$', 'a{999}\\d{4}?$', '']) {
      assert.equal(patternFault(pattern), undefined, pattern);
    }
    for (const pattern of ['(a|a){60}$', '(a?){60}$', 'a\\{2}(b+)+$', '(?:x{1}*)*$']) {
      assert.notEqual(patternFault(pattern), undefined, pattern);
    }
  });

  test('says how to mend the others', () => {
    assert.match(patternFault('^(a+)+$')!, /exponential time.*rewrite it/);
    assert.match(patternFault('^(a|a)*$', 1000)!, /exponential time/);
    assert.match(patternFault('\\s+$')!, /degree 2.*anchor it.*maxLength of at most 256/);
    assert.match(patternFault('[')!, /no regular expression/);
  });

  test('its verdict does not depend on the clock', (t) => {
    const clock = { now: performance.now(), date: Date.now() };
    const leap = (): number => {
      clock.date += 60_000;
      clock.now += 60_000;
      return clock.now;
    };
    t.mock.method(performance, 'now', leap);
    t.mock.method(Date, 'now', () => {
      leap();
      return clock.date;
    });
    assert.match(patternFault('^(b+)+$')!, /exponential time/);
    assert.equal(patternFault('^[b-y]+$'), undefined);
  });

  test('lets a polynomial one pass when the string is short enough', () => {
    assert.equal(patternFault('\\s+$', 256), undefined);
    assert.match(patternFault('\\s+$', 257)!, /polynomial/);
    assert.match(patternFault('a.*b.*c', 1000)!, /degree 3.*at most 16/);
    assert.equal(patternFault('a.*b.*c', 16), undefined);
  });

  test('a replica may trust the front end, which has checked', async () => {
    const url = `${moduleUrl('src/router/schema/patterns.ts')}?replica`;
    const replica = (await import(url)) as typeof import('../../../src/router/schema/patterns.ts');
    assert.match(replica.patternFault('^(a+)+$')!, /exponential/);
    replica.trustPatterns();
    assert.equal(replica.patternFault('^(a+)+$'), undefined);
  });
});
