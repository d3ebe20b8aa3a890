import { after, describe, test } from 'node:test';
import { Conformance } from './clauses.ts';
import type { Subject } from './subject.ts';

/** The contract of an executor (src/core/dispatch/executor.ts), clause by clause. */
export function conformance(subject: Subject): void {
  describe(`the contract of an executor: ${subject.name}`, () => {
    const suite = new Conformance(subject);
    after(() => suite.end());
    for (const clause of suite.clauses) {
      test(clause.name, () => suite.check(clause));
    }
  });
}
