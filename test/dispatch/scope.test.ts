import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { seed } from '../seed.ts';

test('a limit is lowered, never raised', () => {
  fc.assert(
    fc.property(
      fc.option(fc.nat(), { nil: undefined }),
      fc.array(fc.nat()),
      fc.nat(),
      (own, limits, at) => {
        const scope = new RequestScope({ timeoutMs: own }, at);
        for (const limit of limits) scope.limitTo(limit);
        const all = own === undefined ? limits : [own, ...limits];
        const least = Math.min(...all);
        assert.equal(scope.timeoutMs, all.length === 0 ? undefined : least);
        assert.equal(scope.expiresAt, all.length === 0 ? Number.POSITIVE_INFINITY : at + least);
      },
    ),
    { seed },
  );
});

test('what is not known is empty', () => {
  const scope = new RequestScope();
  assert.deepEqual(scope.headers, {});
  assert.equal(scope.remoteAddress, undefined);
  assert.equal(scope.headersText, undefined);
  assert.equal(scope.authText, undefined);
  assert.equal(scope.timeoutMs, undefined);
  assert.equal(scope.cancelled, false);
});

test('each listener is told once, those that left are not', () => {
  const actions = fc.array(
    fc.record({ what: fc.constantFrom('add', 'remove', 'cancel'), who: fc.nat({ max: 4 }) }),
  );
  fc.assert(
    fc.property(actions, (list) => {
      const scope = new RequestScope();
      const told = [0, 0, 0, 0, 0];
      const listeners = told.map((_, who) => ({
        onCancelled: () => {
          told[who] = (told[who] as number) + 1;
        },
      }));
      const here = new Set<number>();
      const wanted = [0, 0, 0, 0, 0];
      for (const { what, who } of list) {
        if (scope.cancelled && what === 'add') continue; // who comes late asks `cancelled`
        const listener = listeners[who] as (typeof listeners)[number];
        if (what === 'add' && !here.has(who)) {
          here.add(who);
          scope.addListener(listener);
        } else if (what === 'remove') {
          here.delete(who);
          scope.removeListener(listener);
        } else if (what === 'cancel' && !scope.cancelled) {
          for (const one of here) wanted[one] = 1;
          scope.cancel();
          assert.equal(scope.cancelled, true);
        } else if (what === 'cancel') {
          scope.cancel();
        }
        assert.deepEqual(told, wanted);
      }
    }),
    { seed, numRuns: 2000 },
  );
});

test('a listener may leave, and take others with it, while they are told', () => {
  const scope = new RequestScope();
  const told: string[] = [];
  const others = ['b', 'c'].map((name) => ({ onCancelled: () => told.push(name) }));
  const first = {
    onCancelled: () => {
      told.push('a');
      scope.removeListener(first);
    },
  };
  scope.addListener(first);
  for (const other of others) scope.addListener(other);
  scope.cancel();
  assert.deepEqual(told, ['a', 'b', 'c']);
});
