import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { broken, brokenExecutors } from './broken.ts';
import { brokenStreams } from './broken-streams.ts';
import { Conformance } from './clauses.ts';
import { inline } from './subjects.ts';

interface Finding {
  readonly clause: string;
  readonly message: string;
}

/** The first clause that a subject does not keep, and what the suite says of it; undefined: it keeps all. */
async function firstFinding(conformance: Conformance): Promise<Finding | undefined> {
  for (const clause of conformance.clauses) {
    try {
      await conformance.check(clause);
    } catch (error) {
      return { clause: clause.name, message: String(error) };
    }
  }
  return undefined;
}

/** What is wrong is around the inline executor, which by itself keeps the contract (conformance.test.ts). */
describe('the conformance suite finds an executor that', () => {
  for (const one of [...brokenExecutors, ...brokenStreams]) {
    test(one.name, async () => {
      const conformance = new Conformance(broken(inline, one));
      try {
        const found = await firstFinding(conformance);
        assert.equal(found?.clause, one.breaks);
        assert.match(found?.message ?? '', one.says);
      } finally {
        await conformance.end();
      }
    });
  }
});
