import { comparableOf } from './floors.ts';
import { type Results, readResults } from './results.ts';
import { keyOf, type Series } from './series.ts';
import { median, noise } from './statistics.ts';
import { figure, markdownTable } from './table.ts';

type Verdict = 'better' | 'worse' | 'same';

interface Change {
  readonly key: string;
  readonly role: Series['role'];
  /** The median of a run, divided by that of the run's floor where it has one. */
  readonly old: number;
  readonly new: number;
  readonly unit: string;
  /** The change as a share of the old value. Above 0 is better. */
  readonly gain: number;
  /** How much the rounds of both runs vary, as a share of their medians. */
  readonly noise: number;
  readonly verdict: Verdict;
}

interface Comparison {
  readonly changes: readonly Change[];
  /** Series that only one of the two runs has. */
  readonly missing: readonly string[];
  /** Targets that one run met and the other did not. */
  readonly targets: readonly string[];
  readonly hasRegressed: boolean;
}

/** Two runs of one build differ by this much, however quiet their rounds were. */
const leastNoise = 0.03;

/** Compares a new run with an old one. A rival that became slower is not a regression. */
function compare(before: Results, after: Results): Comparison {
  const old = valuesOf(before);
  const now = valuesOf(after);
  const changes = [...now].flatMap(([key, value]) => {
    const was = old.get(key);
    return was === undefined ? [] : [changeOf(key, was, value)];
  });
  const missing = [...new Set([...old.keys(), ...now.keys()])].filter(
    (key) => !old.has(key) || !now.has(key),
  );
  const hasRegressed = changes.some(({ role, verdict }) => role === 'ours' && verdict === 'worse');
  return { changes, missing, targets: movedTargets(before, after), hasRegressed };
}

interface Value {
  readonly series: Series;
  readonly samples: readonly number[];
  readonly unit: string;
}

function valuesOf(results: Results): Map<string, Value> {
  const all = results.suites.flatMap(({ series }) => series);
  return new Map(
    all.map((series) => {
      const ratios = comparableOf(series, all);
      const value =
        ratios === undefined
          ? { series, samples: series.samples, unit: series.unit }
          : { series, samples: ratios, unit: 'of the floor' };
      return [keyOf(series), value];
    }),
  );
}

function changeOf(key: string, was: Value, is: Value): Change {
  const old = median(was.samples);
  const now = median(is.samples);
  const relative = old === 0 ? 0 : (now - old) / Math.abs(old);
  const gain = is.series.better === 'higher' ? relative : -relative;
  const around = Math.max(leastNoise, noise(was.samples) + noise(is.samples));
  const verdict = Math.abs(gain) <= around ? 'same' : gain > 0 ? 'better' : 'worse';
  const { role } = is.series;
  return { key, role, old, new: now, unit: is.unit, gain, noise: around, verdict };
}

function movedTargets(before: Results, after: Results): string[] {
  const met = new Map(before.targets.map(({ figure, met }) => [figure, met]));
  return after.targets
    .filter(({ figure, met: isMet }) => met.has(figure) && met.get(figure) !== isMet)
    .map(({ figure, met: isMet }) => `${figure}: ${isMet ? 'met now' : 'no longer met'}`);
}

function percent(share: number): string {
  return `${share > 0 ? '+' : ''}${(share * 100).toFixed(1)}%`;
}

function rowOf({ key, old, new: now, unit, gain, noise, verdict, role }: Change): string[] {
  const who = role === 'ours' ? verdict : `${verdict} (${role})`;
  const noiseText = `±${(noise * 100).toFixed(1)}%`;
  return [who, key, figure(old), figure(now), unit, percent(gain), noiseText];
}

/** Prints what changed between two results files. Returns whether ours got slower by more than the noise. */
export function printComparison(oldPath: string, newPath: string): boolean {
  const before = readResults(oldPath);
  const after = readResults(newPath);
  if (before.machine.cpu !== after.machine.cpu || before.machine.cores !== after.machine.cores) {
    console.error('two machines: only what is relative to a floor can be compared');
  }
  const { changes, missing, targets, hasRegressed } = compare(before, after);
  const moved = changes.filter(({ verdict }) => verdict !== 'same');
  const head = ['', 'figure', before.machine.commit, after.machine.commit, 'unit', 'gain', 'noise'];
  if (moved.length > 0) console.log(`${markdownTable(head, moved.map(rowOf))}\n`);
  for (const text of targets) console.log(text);
  for (const key of missing) console.log(`in one of them only: ${key}`);
  console.log(
    `${moved.length} of ${changes.length} figures changed by more than the noise of the rounds`,
  );
  return hasRegressed;
}
