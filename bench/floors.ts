import type { Series } from './series.ts';
import { ratios } from './statistics.ts';

/**
 * A series divided, round by round, by the floor's series of the same case, metric and tool: a number that depends little
 * on the machine; undefined where there is no floor.
 */
export function comparableOf(series: Series, all: readonly Series[]): number[] | undefined {
  if (series.role === 'floor') return undefined;
  const floor = all.find(
    (one) =>
      one.role === 'floor' &&
      one.suite === series.suite &&
      one.case === series.case &&
      one.metric === series.metric &&
      one.tool === series.tool,
  );
  return floor && ratios(series.samples, floor.samples);
}
