/** A reporter of node:test: the last lines of a run say what was skipped, one line for each reason. */
import type { TestEvent } from 'node:test/reporters';

interface Skipped {
  suites: number;
  tests: number;
}

function count(number: number, what: string): string[] {
  if (number === 0) return [];
  return [`${number} ${what}${number === 1 ? '' : 's'}`];
}

export default async function* notRun(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const reasons = new Map<string, Skipped>();
  for await (const { type, data } of events) {
    if (type !== 'test:pass' || typeof data.skip !== 'string') continue;
    const skipped = reasons.get(data.skip) ?? { suites: 0, tests: 0 };
    reasons.set(data.skip, skipped);
    // A suite that is skipped does not say how many tests it has.
    if (data.details.type === 'suite') skipped.suites++;
    else skipped.tests++;
  }
  for (const [reason, { suites, tests }] of reasons) {
    yield `not run: ${[...count(suites, 'suite'), ...count(tests, 'test')].join(' and ')}: ${reason}\n`;
  }
}
