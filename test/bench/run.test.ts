import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Options, parseOptions } from '../../bench/options.ts';
import type { Reading } from '../../bench/readings.ts';
import { planOf, runSuite, secondsOf } from '../../bench/run.ts';
import { runSuites } from '../../bench/run-suites.ts';
import type { Plan, Suite } from '../../bench/suite.ts';

const options = parseOptions([]) as Options;
const against = parseOptions(['--against', 'b']) as Options;

const plan: Plan = {
  subjects: [
    { id: 'a', label: 'A', role: 'ours' },
    { id: 'b', label: 'B', role: 'rival' },
    { id: 'c', label: 'C', role: 'rival' },
    { id: 'floor', label: 'Floor', role: 'floor' },
  ],
  cases: [{ name: 'one', subjects: ['floor', 'a', 'b', 'c'], seconds: 1 }],
  rounds: 2,
  openSeconds: 3,
};

function suiteOf(measure: (id: string, seconds: number) => Reading[]): Suite & { closed: number } {
  const suite = {
    name: 'fake',
    about: '',
    closed: 0,
    plan: () => plan,
    open: async () => ({
      measure: async (id: string, _name: string, seconds: number) => measure(id, seconds),
      close: async () => {
        suite.closed++;
      },
    }),
    report: () => [],
  };
  return suite;
}

function reading(value: number): Reading {
  return { metric: 'time', unit: 'us', better: 'lower', tool: 'clock', value };
}

const events = { onStep: () => {} };

describe('a run of the benchmark', () => {
  it('measures the subjects in turn, and drops a short warm-up round', async () => {
    const order: string[] = [];
    const suite = suiteOf((id, seconds) => {
      order.push(seconds < 1 ? `(${id})` : id);
      return [reading(order.length)];
    });
    const series = await runSuite(suite, plan, options, events);
    const round = ['floor', 'a', 'b', 'c'];
    assert.deepEqual(order, [...round.map((id) => `(${id})`), ...round, ...round]);
    assert.deepEqual(series.samples('one', 'a', 'time'), [6, 10]);
    assert.equal(series.samples('one', 'nobody', 'time'), undefined);
    assert.equal(suite.closed, 1);
  });

  it('leaves out rivals that were not asked for, never ours or the floor', () => {
    const chosen = planOf(
      suiteOf(() => []),
      against,
    );
    assert.deepEqual(chosen.cases[0]?.subjects, ['floor', 'a', 'b']);
    assert.deepEqual(
      chosen.subjects.map(({ id }) => id),
      ['a', 'b', 'floor'],
    );
  });

  it('tells its steps as many seconds as it said it would take', async () => {
    let told = 0;
    const onStep = (_what: string, seconds: number): void => {
      told += seconds;
    };
    await runSuite(
      suiteOf(() => [reading(1)]),
      plan,
      options,
      { onStep },
    );
    assert.ok(Math.abs(told - secondsOf(plan)) < 1e-9, `${told}`);
  });

  it('fails at a wrong answer, and closes what it opened', async () => {
    const suite = suiteOf((id) => {
      if (id === 'c') throw new Error('a wrong answer: 500');
      return [reading(1)];
    });
    await assert.rejects(runSuite(suite, plan, options, events), /^Error: a wrong answer: 500$/);
    assert.equal(suite.closed, 1);
  });

  it('refuses rounds without a number', async () => {
    let count = 0;
    const gaps = suiteOf(() => (count++ === 5 ? [] : [reading(1)]));
    await assert.rejects(runSuite(gaps, plan, options, events), /is not 2 numbers/);
    const nothing = suiteOf(() => [reading(Number.NaN)]);
    await assert.rejects(runSuite(nothing, plan, options, events), /is not 2 numbers/);
  });

  it('warms up a long measurement for some seconds only', async () => {
    const asked: number[] = [];
    const long = { ...plan, cases: [{ name: 'one', subjects: ['a'], seconds: 600 }], rounds: 1 };
    const suite = suiteOf((_id, seconds) => {
      asked.push(seconds);
      return [reading(1)];
    });
    await runSuite(suite, long, options, events);
    assert.deepEqual(asked, [3, 600]);
    assert.ok(secondsOf(long) < 610, `${secondsOf(long)}`);
  });

  it('goes on behind a suite that fails, and keeps what was measured before', async () => {
    const good = suiteOf(() => [reading(1)]);
    const bad = suiteOf(() => {
      throw new Error('a wrong answer: 500');
    });
    const chosen = [good, { ...bad, name: 'bad' }, { ...good, name: 'last' }];
    const kept: string[][] = [];
    const told: string[] = [];
    const outcome = await runSuites(
      chosen.map((suite) => ({ suite, plan })),
      options,
      {
        ...events,
        onSuite: ({ suites }) => kept.push(suites.map(({ name }) => name)),
        onFailure: (message) => told.push(message),
      },
    );
    assert.deepEqual(kept, [['fake'], ['fake', 'last']]);
    assert.deepEqual(told, ['bad failed: a wrong answer: 500']);
    assert.deepEqual(outcome.failures, told);
    assert.deepEqual(
      outcome.suites.map(({ name }) => name),
      ['fake', 'last'],
    );
  });
});
