import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Catalog, type KnownContract } from '../../src/nats/gateway/catalog.ts';
import { describedProcedure, describeProcedure } from '../../src/router/document/description.ts';
import { Router, tableOf } from '../../src/router/router.ts';
import type { Procedure } from '../../src/router/types.ts';

const keptMs = 5000;

/** A contract with procedures of these names. */
function contract(id: string, names: readonly string[], version = '1.0.0'): KnownContract {
  const router = new Router();
  for (const name of names) router.rpc({ name }, () => null);
  const described = [...tableOf(router).values()].map((each) =>
    describedProcedure(describeProcedure(each)),
  );
  const procedures = new Map(described.map((each) => [each.name, each] as const));
  return { id, version, started: 0, procedures };
}

function names({ procedures }: Catalog): string[] {
  return [...procedures.keys()].sort();
}

describe('the names that a gateway serves', () => {
  const both = contract('c1', ['a', 'b']);
  const one = contract('c2', ['a']);

  test('outlive the last member that has them for a while', () => {
    const catalog = new Catalog(keptMs);
    catalog.update([both, one], [], 0);
    catalog.update([one], [], 1000);
    assert.equal(catalog.expire(5999, 0), false);
    assert.deepEqual(names(catalog), ['a', 'b']);
    assert.equal(catalog.expire(6000, 0), true);
    assert.deepEqual(names(catalog), ['a']);
    assert.equal(catalog.expire(7000, 0), false);
  });

  test('stay where a member with them comes in time, and have their time anew when that goes', () => {
    const catalog = new Catalog(keptMs);
    catalog.update([both, one], [], 0);
    catalog.update([one], [], 1000);
    const again = contract('c1', ['a', 'b']);
    catalog.update([again, one], [], 4000);
    assert.equal(catalog.procedures.get('b'), again.procedures.get('b'));
    assert.equal(catalog.expire(60_000, 0), false);
    catalog.update([one], [], 60_000);
    // What changes meanwhile changes nothing of that.
    catalog.update([one, contract('c3', ['c'])], [], 63_000);
    assert.equal(catalog.expire(64_999, 0), false);
    assert.equal(catalog.expire(65_000, 0), true);
    assert.deepEqual(names(catalog), ['a', 'c']);
  });

  test('stay while their member is silent only', () => {
    const catalog = new Catalog(keptMs);
    catalog.update([both, one], [], 0);
    catalog.update([one], [both], 1000);
    assert.equal(catalog.expire(600_000, 0), false);
    assert.deepEqual(names(catalog), ['a', 'b']);
    // Of what several have, those that are heard describe it.
    assert.equal(catalog.procedures.get('a'), one.procedures.get('a'));
    catalog.update([one], [], 600_000);
    assert.equal(catalog.expire(605_000, 0), true);
    assert.deepEqual(names(catalog), ['a']);
  });

  test('stay while nobody is there, or nobody can be heard', () => {
    const catalog = new Catalog(keptMs);
    catalog.update([both, one], [], 0);
    catalog.update([one], [], 1000);
    catalog.hold();
    assert.equal(catalog.expire(60_000, 0), false);
    catalog.update([one], [], 60_000);
    assert.equal(catalog.expire(65_000, 61_000), false);
    assert.deepEqual(names(catalog), ['a', 'b']);
    assert.equal(catalog.expire(66_000, 61_000), true);
    assert.deepEqual(names(catalog), ['a']);
  });

  test('are those of the newest contract, and each contract is read once, however many members have it', () => {
    let reads = 0;
    class Counted extends Map<string, Procedure> {
      override [Symbol.iterator](): MapIterator<[string, Procedure]> {
        reads++;
        return super[Symbol.iterator]();
      }
    }
    const procedures = new Counted(both.procedures);
    const members = Array.from({ length: 100 }, (_, started) => ({ ...both, started, procedures }));
    const catalog = new Catalog(keptMs);
    const newest = contract('c2', ['a'], '1.10.0');
    catalog.update([...members, newest, contract('c3', ['a'], '1.9.0')], [], 0);
    assert.equal(catalog.procedures.get('a'), newest.procedures.get('a'));
    assert.equal(reads, 1);
  });

  test('are the same map while members come and go that serve the same', () => {
    const catalog = new Catalog(keptMs);
    assert.equal(catalog.update([both], [], 0), true);
    const { procedures } = catalog;
    assert.equal(catalog.update([both, { ...both, started: 1 }], [], 1000), false);
    assert.equal(catalog.update([{ ...both, started: 1 }], [both], 2000), false);
    assert.equal(catalog.procedures, procedures);
    assert.equal(catalog.update([both, one], [], 3000), false, 'the first of equals describes it');
  });
});
