import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { microseconds } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import type { MicroJob } from '../subjects/micro-process.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atMost, given, type Target } from '../targets.ts';

const subjects: readonly Subject[] = [
  { id: 'floor', label: 'JSON.parse, check, call, JSON.stringify', role: 'floor' },
  { id: 'tandem', label: 'Tandem, handle()', role: 'ours' },
  { id: 'tandem-text', label: 'Tandem, dispatchText()', role: 'ours' },
  { id: 'json-rpc-2-0', label: 'json-rpc-2.0', role: 'rival' },
  { id: 'jayson', label: 'jayson', role: 'rival' },
  { id: 'metamask', label: '@metamask/json-rpc-engine', role: 'rival' },
];

const one = 'one call';
const batch = 'batch of 100';
const operations: Readonly<Record<string, MicroJob['name']>> = {
  'envelope parse': 'envelope',
  [one]: 'one',
  [batch]: 'batch',
};

const ids = subjects.map(({ id }) => id);
const able: Readonly<Record<MicroJob['name'], readonly string[]>> = {
  envelope: ['floor', 'tandem', 'tandem-text'],
  one: ids,
  batch: ids.filter((id) => id !== 'metamask'),
};

const tool = 'benchmark';

function plan({ full, duration, rounds }: Options): Plan {
  const cases = Object.entries(operations).map(([name, operation]) => ({
    name,
    subjects: able[operation],
    seconds: duration ?? (full ? 0.3 : 0.1),
  }));
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 5), openSeconds: 2 };
}

async function open(plan: Plan): Promise<Session> {
  const processes = new Map<string, Child>();
  for (const { id } of plan.subjects) {
    processes.set(id, await Child.start('subjects/micro-process', { args: [id] }));
  }
  return {
    measure: async (subject, name, seconds) => {
      const job: MicroJob = { name: operations[name] as MicroJob['name'], seconds };
      const us = await processes.get(subject)?.call<number>('measure', job);
      return [microseconds('time', tool, us ?? Number.NaN)];
    },
    close: async () => {
      await Promise.all([...processes.values()].map((child) => child.stop()));
    },
  };
}

function report(series: SeriesSet): readonly Target[] {
  const over = (name: string, b: string): number[] | undefined => {
    const ours = series.samples(name, 'tandem', 'time');
    const theirs = series.samples(name, b, 'time');
    return ours && theirs && ratios(ours, theirs);
  };
  const rivals = subjects.filter(({ role }) => role === 'rival');
  return given(
    ['handle one call, time over the floor', atMost(1.3), tool, over(one, 'floor')],
    ['handle a batch of 100, time over the floor', atMost(1.2), tool, over(batch, 'floor')],
    ...[one, batch].flatMap((name) =>
      rivals.map(
        ({ id, label }) =>
          [`${name}, time over ${label}`, atMost(1), tool, over(name, id)] as const,
      ),
    ),
  );
}

export const micro: Suite = {
  name: 'micro',
  about: 'A request as text to a reply as text, in process, no transport; inputs vary.',
  plan,
  open,
  report,
};
