import { pathToFileURL } from 'node:url';
import { buildPackage } from '../built-package.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { megabytes, milliseconds, type Reading } from '../readings.ts';
import { rootPath } from '../root.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atMost, given, type Target } from '../targets.ts';

interface Imported {
  readonly cpuUs: number;
  readonly rssBytes: number;
}

const tandem: Subject = { id: 'tandem', label: 'tandem-rpc, as published', role: 'ours' };
const fastify: Subject = { id: 'fastify', label: 'fastify', role: 'rival' };
const subjects = [tandem, fastify];

const name = 'import';
const cpu = 'CPU';
const tool = 'own process';

function plan({ full, rounds }: Options): Plan {
  const cases = [{ name, subjects: subjects.map(({ id }) => id), seconds: 0.3 }];
  return { subjects, cases, rounds: rounds ?? (full ? 10 : 7), openSeconds: 20 };
}

async function open(): Promise<Session> {
  buildPackage();
  const modules: Readonly<Record<string, string>> = {
    [tandem.id]: pathToFileURL(rootPath('dist/src/index.js')).href,
    [fastify.id]: 'fastify',
  };
  return {
    measure: async (id): Promise<Reading[]> => {
      const child = await Child.start('subjects/import-process', { args: [modules[id] ?? ''] });
      const { cpuUs, rssBytes } = child.ready as Imported;
      await child.stop();
      return [milliseconds(cpu, tool, cpuUs / 1000), megabytes('rss', tool, rssBytes)];
    },
    close: async () => {},
  };
}

function report(series: SeriesSet): readonly Target[] {
  const ours = series.samples(name, tandem.id, cpu);
  const theirs = series.samples(name, fastify.id, cpu);
  return given([
    "CPU of importing the package over fastify's",
    atMost(1.5),
    tool,
    ours && theirs && ratios(ours, theirs),
  ]);
}

export const packageSuite: Suite = {
  name: 'package',
  about:
    'What `import` of the package costs, as it is published, in a process that has imported nothing else.',
  plan,
  open,
  report,
};
