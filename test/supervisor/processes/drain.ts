import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Running } from '../../cli/process.ts';
import { type Ended, Load, wrongAnswer } from './load.ts';

export interface DrainReport {
  /** Calls whose handler was entered, counted by the handler. */
  accepted: number;
  /** Those of them whose result reached its caller. */
  answered: number;
  /** Those that were being answered when the signal came, or were sent after it. */
  afterSignal: number;
  /** Calls that were answered -32003: they were read, and not started. */
  cancelled: number;
  /** Calls that were sent and never read: their connection was reset or refused. */
  notAccepted: number;
  /** What may not be, each in a line. */
  readonly violations: string[];
}

export function emptyReport(): DrainReport {
  return {
    accepted: 0,
    answered: 0,
    afterSignal: 0,
    cancelled: 0,
    notAccepted: 0,
    violations: [],
  };
}

/** Where the handlers of one round write. */
function enteredFile(): string {
  return join(tmpdir(), `tandem-entered-${process.pid}`);
}

/**
 * One SIGTERM under load: what was accepted, by the count of the handlers, against what was answered, by
 * the ids that the callers saw.
 *
 * @param start starts a server whose handlers write to the file that ENTERED names
 * @param before how many calls are to end before the signal
 */
export async function drainRound(
  start: (env: NodeJS.ProcessEnv) => Promise<{ server: Running; url: string }>,
  before: number,
  report: DrainReport,
): Promise<void> {
  const file = enteredFile();
  rmSync(file, { force: true });
  const { server, url } = await start({ ENTERED: file });
  const load = new Load(url, 16);
  await load.next(() => true, before);
  const sentBefore = load.ended.length;
  server.child.kill('SIGTERM');
  const { code, stderr } = await server.exit;
  const ended = await load.stop();
  const entered = readFileSync(file, 'utf8').trim().split('\n').map(Number);
  rmSync(file);
  if (code !== 0) report.violations.push(`exit code ${code}: ${stderr}`);
  compare(entered, ended, report);
  report.afterSignal += ended.slice(sentBefore).filter(({ result }) => result).length;
}

function compare(entered: readonly number[], ended: readonly Ended[], report: DrainReport): void {
  const accepted = new Set(entered);
  if (accepted.size < entered.length) report.violations.push('a call ran twice');
  report.accepted += accepted.size;
  for (const one of ended) {
    const { n, result, error } = one;
    if (accepted.has(n)) {
      if (result !== undefined) report.answered++;
      else report.violations.push(`call ${n} was entered and got ${JSON.stringify(one)}`);
    } else if (error?.code === -32003) {
      report.cancelled++;
      continue;
    } else if (result === undefined && error === undefined) {
      report.notAccepted++;
    }
    const wrong = wrongAnswer(one);
    if (wrong !== undefined) report.violations.push(wrong);
    if (result !== undefined && !accepted.has(n)) report.violations.push(`call ${n} never ran`);
  }
  const known = new Set(ended.map(({ n }) => n));
  for (const n of accepted) {
    if (!known.has(n)) report.violations.push(`call ${n} was entered and is not known`);
  }
}
