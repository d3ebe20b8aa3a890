import type { LargeJob, LargeResult } from '../load/large.ts';
import type { MixedJob, MixedResult } from '../load/mixed.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import type { Reading } from '../readings.ts';
import { megabytes, milliseconds, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import { stepsFor } from '../subjects/calibrate.ts';
import { burnCalls } from '../subjects/questions.ts';
import { RunningServer, tandem } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const subjects: readonly Subject[] = [{ id: 'tandem', label: 'Tandem', role: 'ours' }];

const ascii = '5 MB of ASCII params, 4 at a time';
const other = '5 MB of other params, 4 at a time';
const overload = 'overload, 5 times the capacity';
const kill = 'kill, with a spare worker';
const killBare = 'kill, without a spare worker';

/** Milliseconds of work of one pooled call under overload. */
const burnMs = 4;
/** A short queue: calls above the capacity are refused because it is full, and not only after seconds of waiting. */
const maxQueue = 50;
const overloadFactor = 5;
const overloaded = -32000;

const tool = 'closed loop client';
const pacedTool = 'paced client';
const inProcess = 'in process';

function plan({ full, duration, rounds }: Options): Plan {
  const ids = ['tandem'];
  const seconds = (quick: number): number => duration ?? (full ? quick * 2 : quick);
  const cases = [
    { name: ascii, subjects: ids, seconds: seconds(0.3) },
    { name: other, subjects: ids, seconds: seconds(0.3) },
    { name: overload, subjects: ids, seconds: seconds(1) },
    { name: kill, subjects: ids, seconds: 0.2 },
    { name: killBare, subjects: ids, seconds: 0.2 },
  ];
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 5), openSeconds: 2 };
}

interface Parts {
  readonly server: RunningServer;
  readonly bounded: RunningServer;
  readonly mixed: Child;
  readonly large: Child;
  readonly killer: Child;
  readonly killerBare: Child;
}

class LimitsSession implements Session {
  readonly #parts: Parts;
  readonly #steps = stepsFor(burnMs);

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async measure(_subject: string, name: string, seconds: number): Promise<Reading[]> {
    if (name === ascii) return this.#large('x', seconds);
    if (name === other) return this.#large('é', seconds);
    if (name === overload) return this.#overload(seconds);
    const child = name === kill ? this.#parts.killer : this.#parts.killerBare;
    return [milliseconds('slot back', inProcess, await child.call<number>('kill'))];
  }

  async close(): Promise<void> {
    const { server, bounded, mixed, large, killer, killerBare } = this.#parts;
    const all = [server, bounded, mixed, large, killer, killerBare];
    await Promise.all(all.map((one) => one.stop()));
  }

  async #large(letter: string, seconds: number): Promise<Reading[]> {
    const { server, large } = this.#parts;
    const job: LargeJob = { port: server.port, letter, bytes: 5_000_000, connections: 4, seconds };
    await server.process.call('watchDelay');
    const before = await server.process.usage();
    const { calls, perSecond } = await large.call<LargeResult>('run', job);
    const delay = await server.process.call<number>('delayP99');
    const after = await server.process.usage();
    const mainCpuMs = (after.mainCpuUs - before.mainCpuUs) / 1000;
    return [
      milliseconds('event-loop delay p99', tool, delay),
      rate('calls', tool, perSecond),
      milliseconds('main cpu', tool, mainCpuMs / calls),
      megabytes('rss', tool, after.rssBytes),
    ];
  }

  /** Measures what the workers can do, then offers them a multiple of it. */
  async #overload(seconds: number): Promise<Reading[]> {
    const { bounded, mixed } = this.#parts;
    const goal = await bounded.goal(burnCalls('json-rpc', this.#steps));
    const run = (job: MixedJob): Promise<MixedResult> => mixed.call('run', job);
    const peak = await run({ seconds: seconds / 2, closed: { goal, connections: 16 } });
    const capacity = peak.closed?.perSecond ?? Number.NaN;
    const flood = await run({
      seconds: seconds / 2,
      paced: { goal, perSecond: capacity * overloadFactor },
      refusals: [overloaded],
    });
    const { perSecond, refusals, refusalP99 } = flood.paced as NonNullable<MixedResult['paced']>;
    if (refusals === 0) throw new Error('nothing was refused: this was no overload');
    return [
      rate('peak', tool, capacity),
      rate('goodput', pacedTool, perSecond),
      milliseconds('refusal p99', pacedTool, refusalP99),
    ];
  }
}

function report(series: SeriesSet): readonly Target[] {
  const of = (name: string, metric: string) => series.samples(name, 'tandem', metric);
  const goodput = of(overload, 'goodput');
  const peak = of(overload, 'peak');
  const delay = 'event-loop delay p99';
  return given(
    [`${delay}, ${ascii}`, atMost(5, 'ms'), tool, of(ascii, delay)],
    [`${delay}, ${other}`, atMost(5, 'ms'), tool, of(other, delay)],
    [
      `goodput under ${overloadFactor} times the capacity over the peak`,
      atLeast(0.9),
      pacedTool,
      goodput && peak && ratios(goodput, peak),
    ],
    ['refusal under overload, p99', atMost(50, 'ms'), pacedTool, of(overload, 'refusal p99')],
    ['a worker again after a kill', atMost(250, 'ms'), inProcess, of(kill, 'slot back')],
  );
}

export const limits: Suite = {
  name: 'limits',
  about: 'Large params, overload and kills: what the service promises where it is pressed.',
  plan,
  open: async () =>
    new LimitsSession({
      server: await RunningServer.start(tandem),
      bounded: await RunningServer.start({
        ...tandem,
        args: [...(tandem.args ?? []), String(maxQueue)],
      }),
      mixed: await Child.start('load/mixed-process'),
      large: await Child.start('load/large-process'),
      killer: await Child.start('subjects/kill-process', { args: ['1'] }),
      killerBare: await Child.start('subjects/kill-process', { args: ['0'] }),
    }),
  report,
};
