import type { Recovery, Usage } from '../../fixtures/faults/soak-server.ts';
import type { Trend } from '../memory-trend.ts';
import type { SoakRow } from './tally.ts';

export interface SoakReport {
  readonly rows: readonly SoakRow[];
  readonly seconds: number;
  /** Of the threads that were lost in the storm, several at a time. */
  readonly stormRecoveries: readonly Recovery[];
  /** Lines of the server's log above `info`, by their event. */
  readonly logged: Readonly<Record<string, number>>;
  /** Threads that were ended at a deadline or died. */
  readonly losses: number;
  /** Their lines of the log, where no fault of the soak takes a thread in that way: the first of them. */
  readonly otherLosses: readonly string[];
  readonly reloads: number;
  /** Bad edits that were refused. */
  readonly badEdits: number;
  /** Of the server while it was under load; undefined: too short a run to tell. */
  readonly memory: { readonly rss: Trend; readonly heap: Trend } | undefined;
  /** What it held at rest, before the load and after it. */
  readonly held: { readonly before: Usage; readonly after: Usage };
  /** What resident memory may come to, MB. */
  readonly rssBoundMb: number;
  /** What may not be, each in a line. */
  readonly violations: readonly string[];
}

const titles: Readonly<Record<string, string>> = {
  loop: 'infinite loop',
  regex: 'runaway regex',
  spinLater: 'loop behind an await',
  never: 'promise that never settles',
  exit: 'process.exit',
  reallyExit: 'thread ends under its calls',
  exhaust: 'heap exhaustion',
  throwLate: 'throw after return',
  rejectLate: 'unhandled rejection',
  crash: 'throw',
  bigint: 'result JSON cannot hold',
  cycle: 'cyclic result',
  recursion: 'stack overflow',
  'one of each': 'a frame with one of each',
  reload: 'good calls during a reload',
  edit: 'good calls during a reload of a bad edit',
  'caller gone': 'caller gone (no answer due)',
  'upload given up': 'upload given up (no answer due)',
  large: 'body of 5 to 9 MB, pooled',
  'large inline': 'body of 5 to 9 MB, inline',
  held: 'body held half-sent, half of them for good',
  events: 'stream over server-sent events',
  socket: 'stream over WebSocket',
  'stream left': 'stream left by its reader (no end due)',
  'over socket': 'good calls over WebSocket',
  'among many': 'calls run together, one in 40 of which takes their thread along',
  beside: 'good calls beside the measured recoveries',
  close: 'close with a full queue',
};

/** Median and longest, whole milliseconds; '' where there is nothing. */
function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  if (median === undefined) return '';
  return `${Math.round(median)} / ${Math.round(sorted.at(-1) as number)}`;
}

/** The closing table, in Markdown. */
export function tableOf({ rows }: SoakReport): string {
  const lines = rows.map(
    ({ fault, calls, answered, lost, crossed, doubled, recovery, refused }) => {
      return `| ${titles[fault] ?? fault} | ${calls} | ${answered} | ${refused} | ${lost} | ${crossed} | ${doubled} | ${spread(recovery)} |`;
    },
  );
  return [
    '| fault | calls | answered | refused | lost | crossed | doubled | recovery, ms (median / max) |',
    '|---|--:|--:|--:|--:|--:|--:|--:|',
    ...lines,
  ].join('\n');
}

const perMinute = ({ slope, error }: Trend): string =>
  `${slope.toFixed(2)} +- ${error.toFixed(2)} MB/min`;

/** What the table does not hold, in a few lines. */
export function notesOf(report: SoakReport): string {
  const { rows, seconds, losses, reloads, badEdits, memory, held } = report;
  const { before, after } = held;
  const refused = rows.reduce((sum, row) => sum + row.refused, 0);
  const notAccepted = rows.reduce((sum, row) => sum + row.notAccepted, 0);
  const times = (isEdited: boolean): number[] =>
    report.stormRecoveries.filter((one) => one.isEdited === isEdited).map(({ ms }) => ms);
  const lines = [
    `${Math.round(seconds)} s, ${losses} threads lost, ${reloads} reloads, ${badEdits} bad edits refused, ${refused} calls refused (-32000), ${notAccepted} sent on connections that were closed meanwhile`,
    `recovery when several threads were lost at a time: ${spread(times(false))} ms (median / max); while an edit lay on the disk: ${spread(times(true))} ms`,
    `log: ${Object.entries(report.logged)
      .map(([event, count]) => `${event} ${count}`)
      .join(', ')}`,
    `peak RSS ${Math.round(after.peakRssMb)} MB, at most ${Math.round(report.rssBoundMb)} MB allowed`,
    `at rest, before and after: ${before.threads} and ${after.threads} threads, ${before.descriptors} and ${after.descriptors} descriptors, RSS ${Math.round(before.rssMb)} and ${Math.round(after.rssMb)} MB`,
  ];
  if (memory !== undefined) {
    lines.push(
      `memory under load, slope and 95% interval: RSS ${perMinute(memory.rss)}, heap of the main thread ${perMinute(memory.heap)}`,
    );
  }
  for (const line of report.otherLosses) lines.push(`lost by no fault of the soak: ${line}`);
  return lines.join('\n');
}
