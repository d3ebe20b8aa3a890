import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertKnown, isWhole, type Options, parseOptions } from '../../bench/options.ts';

function parsed(...args: string[]): Options {
  const options = parseOptions(args);
  assert.notEqual(options, 'help');
  return options as Options;
}

describe('the options of the benchmark', () => {
  it('pick suites, rivals, seconds and rounds', () => {
    const options = parsed(
      '--only',
      'http, hop',
      '--against=jayson',
      '--duration',
      '0.5',
      '--rounds',
      '7',
    );
    assert.deepEqual(options.only, ['http', 'hop']);
    assert.deepEqual(options.against, ['jayson']);
    assert.equal(options.duration, 0.5);
    assert.equal(options.rounds, 7);
    assert.equal(options.full, false);
  });

  it('refuse what can not be, by name', () => {
    for (const text of ['0', '-1', 'x', '', 'Infinity']) {
      assert.throws(() => parseOptions([`--duration=${text}`]), /--duration is a number above 0/);
    }
    assert.throws(() => parseOptions(['--rounds', '1.5']), /--rounds is a whole number/);
    assert.throws(() => parseOptions(['--unknown']));
    assert.throws(
      () => assertKnown('suite', ['htp'], ['http']),
      /no such suite: htp; there are http/,
    );
  });

  it('tell a whole run from one that picks', () => {
    assert.equal(isWhole(parsed()), true);
    assert.equal(isWhole(parsed('--full')), true);
    for (const picks of [['--only=http'], ['--against=jayson'], ['--duration=1'], ['--rounds=1']]) {
      assert.equal(isWhole(parsed(...picks)), false, picks.join());
    }
  });

  it('know help', () => {
    assert.equal(parseOptions(['--help']), 'help');
  });
});
