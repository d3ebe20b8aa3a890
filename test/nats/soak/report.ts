import type { SoakRow } from './faults.ts';

const milliseconds = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** The table of docs/reliability.md. */
export function tableOf(rows: readonly SoakRow[]): string {
  const lines = rows.map(({ fault, counts, recoveryMs }) => {
    const { calls, results, errors, lost, doubled, crossed, slowestMs } = counts;
    const kinds = [...errors].map(([error, count]) => `${count} × ${error}`).join(', ');
    const slowest = results === 0 ? '' : milliseconds(slowestMs);
    const recovery = recoveryMs === undefined ? '' : milliseconds(recoveryMs);
    const cells = [fault, calls, results, kinds, lost, doubled, crossed, slowest, recovery];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| fault | calls | results | errors | lost | doubled | crossed | slowest result | recovery |',
    '|---|--:|--:|---|--:|--:|--:|--:|--:|',
    ...lines,
  ].join('\n');
}
