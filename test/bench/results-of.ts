import type { Results } from '../../bench/results.ts';
import type { Series } from '../../bench/series.ts';
import type { Target } from '../../bench/targets.ts';

/** A series of one suite; what a test is about is given. */
export function seriesOf(given: Partial<Series>): Series {
  return {
    suite: 'http',
    case: '64 connections',
    subject: 'tandem',
    role: 'ours',
    metric: 'requests',
    unit: '/s',
    better: 'higher',
    tool: 'wrk',
    samples: [100, 101, 102],
    ...given,
  };
}

export function resultsOf(series: readonly Series[], targets: readonly Target[] = []): Results {
  const subjects = [...new Map(series.map((one) => [one.subject, one])).values()];
  return {
    date: '2026-01-02T03:04:05.000Z',
    command: 'npm run bench --',
    seconds: 120,
    machine: {
      cpu: 'a cpu',
      cores: 2,
      memoryGb: 8,
      system: 'linux',
      node: 'v20.0.0',
      load: [0, 0],
      commit: 'abc1234',
      modified: false,
      versions: { fastify: '5.0.0' },
    },
    suites: [
      {
        name: 'http',
        about: 'About it.',
        subjects: subjects.map(({ subject: id, role }) => ({ id, role, label: `the ${id}` })),
        series,
      },
    ],
    targets,
    failures: [],
  };
}
