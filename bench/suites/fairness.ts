import type { ClosedLoad, MixedJob, MixedResult, PacedLoad } from '../load/mixed.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { milliseconds, type Reading, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { stepsFor } from '../subjects/calibrate.ts';
import { burnCalls } from '../subjects/questions.ts';
import { RunningServer, tandemByDefault } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const subjects = [tandemByDefault];

const politeMs = 2;
const politePerSecond = 10;
const greedyMs = 10;
const greedyCalls = 200;

const politeAlone = 'polite alone';
const greedyAlone = 'greedy alone';
const oneCaller = 'both from one address';
const twoCallers = 'each from its own address';
const cases = [politeAlone, greedyAlone, oneCaller, twoCallers];

const tool = 'paced client';

function plan({ full, duration, rounds }: Options): Plan {
  const seconds = duration ?? (full ? 8 : 4);
  return {
    subjects,
    cases: cases.map((name) => ({ name, subjects: ['tandem'], seconds })),
    rounds: rounds ?? (full ? 10 : 5),
    openSeconds: 3,
  };
}

async function open(): Promise<Session> {
  const stepsOfOneMs = stepsFor(20) / 20;
  const load = await Child.start('load/mixed-process');
  const server = await RunningServer.start(tandemByDefault);
  const goal = (method: string, ms: number): ReturnType<RunningServer['goal']> =>
    server.goal(burnCalls('json-rpc', Math.round(ms * stepsOfOneMs), method));
  const paced: PacedLoad = { goal: await goal('polite', politeMs), perSecond: politePerSecond };
  const greedy: ClosedLoad = { goal: await goal('greedy', greedyMs), connections: greedyCalls };
  const jobs: Readonly<Record<string, Omit<MixedJob, 'seconds'>>> = {
    [politeAlone]: { paced },
    [greedyAlone]: { closed: greedy },
    [oneCaller]: { paced, closed: greedy },
    [twoCallers]: { paced: { ...paced, from: '127.0.0.2' }, closed: greedy },
  };
  return {
    measure: async (_subject, name, seconds): Promise<Reading[]> => {
      const result = await load.call<MixedResult>('run', {
        ...jobs[name],
        seconds,
        refusals: [-32000],
      });
      return [
        ...(result.paced === undefined ? [] : [milliseconds('polite p50', tool, result.paced.p50)]),
        ...(result.closed === undefined ? [] : [rate('greedy', tool, result.closed.perSecond)]),
      ];
    },
    close: async () => {
      await server.stop();
      await load.stop();
    },
  };
}

function report(series: SeriesSet): readonly Target[] {
  const polite = (name: string): number[] | undefined =>
    series.samples(name, 'tandem', 'polite p50');
  const apart = polite(twoCallers);
  const together = polite(oneCaller);
  const only = series.samples(greedyAlone, 'tandem', 'greedy');
  const beside = series.samples(twoCallers, 'tandem', 'greedy');
  const what = `a polite caller's ${politeMs} ms call beside ${greedyCalls} calls of ${greedyMs} ms`;
  return given(
    [`${what}, p50`, atMost(120, 'ms'), tool, apart],
    [
      `${what}, over the wait in one queue`,
      atMost(0.05),
      tool,
      apart && together && ratios(apart, together),
    ],
    [
      'calls/s that the greedy caller keeps',
      atLeast(0.9),
      tool,
      beside && only && ratios(beside, only),
    ],
  );
}

export const fairness: Suite = {
  name: 'fairness',
  about: `${politePerSecond} calls/s of a polite caller beside ${greedyCalls} calls of another one that always wait or run.`,
  plan,
  open,
  report,
};
