import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compare } from '../../bench/compare.ts';
import { atLeast, target } from '../../bench/targets.ts';
import { resultsOf, seriesOf } from './results-of.ts';

const before = seriesOf({ samples: [98, 100, 102] });

function verdictOn(samples: readonly number[], better: 'higher' | 'lower' = 'higher') {
  const old = resultsOf([{ ...before, better }]);
  const { changes, hasRegressed } = compare(old, resultsOf([{ ...before, better, samples }]));
  return { verdict: changes[0]?.verdict, hasRegressed };
}

describe('the comparison of two runs', () => {
  it('says nothing of what lies within the noise of both', () => {
    assert.deepEqual(verdictOn([96, 97, 98]), { verdict: 'same', hasRegressed: false });
    assert.deepEqual(verdictOn([60, 90, 120]), { verdict: 'same', hasRegressed: false });
  });

  it('tells a loss from a gain, whichever way is better', () => {
    assert.deepEqual(verdictOn([89, 90, 91]), { verdict: 'worse', hasRegressed: true });
    assert.deepEqual(verdictOn([109, 110, 111]), { verdict: 'better', hasRegressed: false });
    assert.deepEqual(verdictOn([89, 90, 91], 'lower'), { verdict: 'better', hasRegressed: false });
    assert.deepEqual(verdictOn([109, 110, 111], 'lower'), { verdict: 'worse', hasRegressed: true });
  });

  it('compares shares of the floor where there is one: a slower machine is no regression', () => {
    const floor = seriesOf({ subject: 'uws-floor', role: 'floor', samples: [200, 200, 200] });
    const half = { samples: [50, 50, 50] };
    const slower = resultsOf([
      { ...before, ...half },
      { ...floor, samples: [100, 100, 100] },
    ]);
    const { changes, hasRegressed } = compare(resultsOf([before, floor]), slower);
    assert.equal(changes[0]?.unit, 'of the floor');
    assert.equal(changes[0]?.verdict, 'same');
    assert.equal(hasRegressed, false);
  });

  it('reports a rival that got slower, and does not fail for it', () => {
    const rival = seriesOf({ subject: 'fastify', role: 'rival' });
    const { changes, hasRegressed } = compare(
      resultsOf([rival]),
      resultsOf([{ ...rival, samples: [50, 50, 50] }]),
    );
    assert.equal(changes[0]?.verdict, 'worse');
    assert.equal(hasRegressed, false);
  });

  it('names what only one of them measured, and targets that moved', () => {
    const met = [target('a figure', atLeast(2), 'wrk', [3])];
    const unmet = [target('a figure', atLeast(2), 'wrk', [1])];
    const { missing, targets } = compare(resultsOf([before], met), resultsOf([], unmet));
    assert.deepEqual(missing, ['http / 64 connections / tandem / requests / wrk']);
    assert.deepEqual(targets, ['a figure: no longer met']);
  });
});
