import { after, describe, test } from 'node:test';
import { Conformance } from './clauses.ts';
import { closed, group, inline, pool, poolIntoSinks } from './subjects.ts';

/** Every executor there is: another joins by its subject, and its name here. */
for (const subject of [inline, pool, poolIntoSinks, group, closed]) {
  describe(`the contract of an executor: ${subject.name}`, () => {
    const conformance = new Conformance(subject);
    after(() => conformance.end());
    for (const clause of conformance.clauses) {
      test(clause.name, () => conformance.check(clause));
    }
  });
}
