import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CallerKeyOf, CallerKeys } from '../../src/core/dispatch/caller-key.ts';
import { RequestScope, type ScopeFacts } from '../../src/core/dispatch/scope.ts';

function keyOf(
  fairBy: string | CallerKeyOf,
  auth: unknown,
  facts: ScopeFacts = { remoteAddress: '192.0.2.1' },
  onFault: (error: unknown) => void = () => assert.fail(),
): string {
  const scope = new RequestScope(facts);
  if (auth !== undefined) scope.authText = JSON.stringify(auth);
  return new CallerKeys(fairBy, onFault).keyOf(scope);
}

const address = keyOf('address', undefined);

describe('the key of a caller', () => {
  test('is auth.sub, or auth itself where it is a text or a number, else the address', () => {
    const ann = keyOf('auto', 'ann');
    assert.equal(keyOf('auto', { sub: 'ann', role: 'x' }), ann);
    assert.notEqual(keyOf('auto', 7), keyOf('auto', '7'));
    for (const auth of [
      undefined,
      null,
      true,
      {},
      { sub: null },
      { sub: {} },
      ['ann'],
      { id: 1 },
    ]) {
      assert.equal(keyOf('auto', auth), address, JSON.stringify(auth));
    }
  });

  test('is the member of auth that is named, of its own members only', () => {
    assert.equal(keyOf('auth.tenant', { tenant: 'a', sub: 'b' }), keyOf('auto', 'a'));
    for (const auth of [undefined, 'a', { sub: 'b' }, {}]) {
      assert.equal(keyOf('auth.tenant', auth), address);
    }
    assert.equal(keyOf('auth.constructor', {}), address);
    assert.equal(keyOf('auth.__proto__', { sub: 1 }), address);
  });

  test('is a header only where one was taken from a proxy', () => {
    const facts = { remoteAddress: '192.0.2.1', headers: { 'x-tenant': 'forged' } };
    assert.equal(keyOf('header:x-tenant', 'ann', facts), address);
    const key = keyOf('header:x-tenant', 'ann', { ...facts, callerHeader: 'acme' });
    assert.notEqual(key, address);
    assert.equal(key, keyOf('header:x-tenant', 'bob', { callerHeader: 'acme' }));
  });

  test('is what a function says; where it says nothing or fails, the address', () => {
    const seen: unknown[] = [];
    const by: CallerKeyOf = (caller) => void seen.push(caller);
    assert.equal(keyOf(by, { a: 1 }), address);
    assert.deepEqual(seen, [{ auth: { a: 1 }, remoteAddress: '192.0.2.1', headers: {} }]);
    assert.notEqual(
      keyOf(() => 'x', undefined),
      keyOf(() => 'y', undefined),
    );
    const faults: unknown[] = [];
    const onFault = (error: unknown) => faults.push(error);
    const failing = () => {
      throw new Error('no');
    };
    assert.equal(keyOf(failing, undefined, undefined, onFault), address);
    const wrong = (() => 7) as unknown as CallerKeyOf;
    assert.equal(keyOf(wrong, undefined, undefined, onFault), address);
    assert.equal(faults.length, 2);
  });

  test('of one kind is never taken for one of another', () => {
    const keys = [
      keyOf('address', undefined, { remoteAddress: 'x' }),
      keyOf('auto', 'x'),
      keyOf(() => 'x', undefined),
      keyOf('header:h', undefined, { callerHeader: 'x' }),
      keyOf('address', undefined, {}),
    ];
    assert.equal(new Set(keys).size, keys.length);
  });

  test('is of a bounded length, and long ones are told apart', () => {
    const long = 'x'.repeat(100_000);
    const keys = [keyOf('auto', long), keyOf('auto', `${long}y`), keyOf('auto', `${long}z`)];
    assert.equal(new Set(keys).size, 3);
    assert.ok(keys.every(({ length }) => length <= 128));
  });

  test('of an IPv6 address is that of its network of 64 bits, however it is written', () => {
    const of = (remoteAddress: string) => keyOf('address', undefined, { remoteAddress });
    const key = of('2001:db8::1');
    for (const same of [
      '2001:db8::2',
      '2001:db8:0:0:ffff::',
      '2001:0db8:0000:0000:0000:0000:0000:0003',
      '2001:DB8::',
      '2001:db8:0:0:1:2:3:4',
    ]) {
      assert.equal(of(same), key, same);
    }
    for (const other of ['2001:db8:0:1::1', '::1', '::', '2001:db9::1', '192.0.2.1']) {
      assert.notEqual(of(other), key, other);
    }
  });

  test('is found out once a request, and only when it is asked for', () => {
    let reads = 0;
    const facts = {
      get remoteAddress() {
        reads++;
        return '192.0.2.1';
      },
    };
    const scope = new RequestScope(facts);
    const keys = new CallerKeys('auto', () => assert.fail());
    assert.equal(reads, 0);
    assert.equal(keys.keyOf(scope), keys.keyOf(scope));
    assert.equal(reads, 1);
  });
});
