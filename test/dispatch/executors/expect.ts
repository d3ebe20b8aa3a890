import assert from 'node:assert/strict';
import { neverRan } from '../../../src/core/dispatch/call.ts';
import { ErrorCode } from '../../../src/core/protocol/errors.ts';
import { turn } from '../../turns.ts';
import { type Bench, maxReplyBytes, type Report, type Sent } from './bench.ts';

interface ReplyError {
  readonly code: number;
  readonly data?: { readonly retry?: boolean };
}

function errorIn({ reply }: Sent): ReplyError | undefined {
  return (JSON.parse(String(reply)) as { error?: ReplyError }).error;
}

/** The code that a reply carries; 0: a result. */
export function codeOf(sent: Sent): number {
  return errorIn(sent)?.code ?? 0;
}

/** What holds for each call, however it ends: one answer, one report, and both say the same. */
function assertEndedOnce(bench: Bench, sent: Sent, codes: readonly number[]): Report {
  const { tag, reply } = sent;
  const what = `${sent.call.procedure.name} ${tag}`;
  assert.equal(sent.failure, undefined, `${what} was thrown or rejected: ${String(sent.failure)}`);
  assert.ok(sent.isAnswered, `${what} has no answer`);
  const reports = bench.reportsOf(sent);
  assert.equal(reports.length, 1, `${what} is reported once, not ${reports.length} times`);
  assert.equal(sent.reportsAtAnswer, 1, `${what} is reported before it is answered`);
  const report = reports[0] as Report;
  assert.equal(report.place, bench.opened.executor.place, `${what} is reported under the place`);
  assert.ok(
    codes.includes(report.code),
    `${what} ended with ${report.code}, not ${codes.join(' or ')}`,
  );
  assert.ok(report.waitUs >= 0 && (report.runUs >= 0 || report.runUs === neverRan));
  // It held its thread no longer than it ran; the clock is read in fractions of a microsecond.
  assert.ok(report.busyUs >= 0 && report.busyUs <= Math.max(report.runUs, 0) + 1);
  if (sent.call.id === undefined) {
    assert.equal(reply, undefined, `${what} is a notification`);
    return report;
  }
  assert.ok(reply !== undefined, `${what} has no reply`);
  const text = reply.toString();
  assert.equal(report.reply?.toString(), text, `${what} is reported with its reply`);
  assert.equal((JSON.parse(text) as { id: string }).id, tag, `${what} has its own id`);
  assert.equal(codeOf(sent), report.code, `${what} is reported with the code of its reply`);
  assert.ok(Buffer.byteLength(text) <= maxReplyBytes, `${what} keeps the bound on replies`);
  const mayRepeat = errorIn(sent)?.data?.retry === true;
  if (report.code === ErrorCode.Overloaded || report.code === ErrorCode.Cancelled) {
    assert.equal(mayRepeat, report.runUs === neverRan, `${what} says retry if it never ran`);
  }
  return report;
}

/** The same, of one whose answer comes. */
export async function endsOnce(bench: Bench, sent: Sent, ...codes: number[]): Promise<Report> {
  await sent.answered;
  return assertEndedOnce(bench, sent, codes);
}

/** The same, of one that must have its answer by now. */
export async function hasEndedOnce(bench: Bench, sent: Sent, ...codes: number[]): Promise<Report> {
  await turn();
  return assertEndedOnce(bench, sent, codes);
}

/** A call that was refused: its handler was never entered. */
export async function isRefused(bench: Bench, sent: Sent, code: number): Promise<void> {
  const { runUs } = await hasEndedOnce(bench, sent, code);
  assert.equal(runUs, neverRan);
}
