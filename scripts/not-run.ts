/** A reporter of node:test: the last lines of a run say what was skipped, one line for each reason. */
import type { TestEvent } from 'node:test/reporters';

export default async function* notRun(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const reasons = new Map<string, number>();
  for await (const { type, data } of events) {
    if (type !== 'test:pass' || typeof data.skip !== 'string') continue;
    // A suite that is skipped does not say how many tests it has.
    reasons.set(data.skip, (reasons.get(data.skip) ?? 0) + 1);
  }
  for (const [reason, count] of reasons) yield `not run: ${count} tests or suites: ${reason}\n`;
}
