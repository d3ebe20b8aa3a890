import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { milliseconds } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import type { Subject } from '../subject.ts';
import { stallBodies } from '../subjects/stall-bodies.ts';
import type { StallJob } from '../subjects/stall-process.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atMost, given, type Target } from '../targets.ts';

const subjects: readonly Subject[] = [{ id: 'tandem', label: 'Tandem', role: 'ours' }];

/** The sizes of bodies, and how many milliseconds such a body may hold up all other calls. */
const sizes = [
  { name: '10 KB', bytes: 10 * 1024, most: 10 },
  { name: '10 MB', bytes: 10 * 1024 ** 2, most: 50 },
] as const;

const metric = 'stall';
const tool = 'in process';
const largestParams = 'the largest params of an inline call, parsed';

const stages = stallBodies(100).map(({ stage }) => stage);
const caseName = (size: string, stage: string): string => `${size}, ${stage}`;

function plan({ full, rounds }: Options): Plan {
  const names = sizes.flatMap(({ name }) => stages.map((stage) => caseName(name, stage)));
  const cases = [...names, largestParams].map((name) => ({
    name,
    subjects: ['tandem'],
    seconds: name.startsWith('10 MB') ? 0.5 : 0.05,
  }));
  return { subjects, cases, rounds: rounds ?? (full ? 4 : 3), openSeconds: 5 };
}

async function open(): Promise<Session> {
  const child = await Child.start('subjects/stall-process');
  return {
    measure: async (_subject, name) => {
      if (name === largestParams) {
        return [milliseconds(metric, tool, await child.call<number>('parse'))];
      }
      const size = sizes.find((one) => name.startsWith(one.name));
      if (size === undefined) throw new Error(`no size in ${name}`);
      const job: StallJob = { size: size.bytes, stage: name.slice(size.name.length + 2) };
      return [milliseconds(metric, tool, await child.call<number>('stall', job))];
    },
    close: () => child.stop(),
  };
}

/** The longest stall over all stages: one slow stage is enough to hold everybody up. */
function report(series: SeriesSet): readonly Target[] {
  return given(
    ...sizes.map(({ name, most }) => {
      const rounds = stages.map((stage) => series.samples(caseName(name, stage), 'tandem', metric));
      const longest = rounds[0]?.map((_, round) =>
        Math.max(...rounds.map((samples) => samples?.[round] ?? Number.NaN)),
      );
      return [`longest stall by one body of ${name}`, atMost(most, 'ms'), tool, longest] as const;
    }),
  );
}

export const stalls: Suite = {
  name: 'stalls',
  about:
    'The longest turn of the event loop that one request causes: for each stage of the main thread, the worst body known.',
  plan,
  open,
  report,
};
