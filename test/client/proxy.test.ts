import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { createClient } from '../../src/client/index.ts';

interface Api {
  'math.add': { params: { a: number }; result: string };
  'math.call': { params: object; result: string };
  'math.name': { params: object; result: string };
  'math.apply.length': { params: object; result: string };
  math: { params: object; result: string };
  ping: { params: object; result: string };
}

/** A client whose server answers with the name that was called, and the names that were. */
function create() {
  const called: string[] = [];
  const fetch = async (_url: string, { body }: { body: string }): Promise<Response> => {
    const { id, method } = JSON.parse(body) as { id: number; method: string };
    called.push(method);
    return new Response(JSON.stringify({ id, result: method }));
  };
  return { client: createClient<Api>({ url: 'http://x', fetch }), called };
}

describe('the proxy', () => {
  it('calls the name that its dots spell', async () => {
    const { client, called } = create();
    const results = await Promise.all([
      client.ping(),
      client.math(),
      client.math.add({ a: 1 }),
      client.math.call(),
      client.math.name(),
      client.math.apply.length(),
    ]);
    assert.deepEqual(results, called);
    assert.deepEqual(called.toSorted(), [
      'math',
      'math.add',
      'math.apply.length',
      'math.call',
      'math.name',
      'ping',
    ]);
  });

  it('gives the same function for the same name, detached from it too', async () => {
    const { client } = create();
    assert.equal(client.math.add, client.math.add);
    const { add } = client.math;
    assert.equal(await add({ a: 1 }), 'math.add');
  });

  it('sends nothing when it is only looked at', async () => {
    const { client, called } = create();
    for (const value of [client, client.math, client.math.add] as unknown[]) {
      assert.equal(await value, value, 'it is no promise');
      assert.equal(await Promise.resolve(value), value);
      inspect(value, { showProxy: false, depth: 5 });
      inspect(value, { showProxy: true });
      JSON.stringify({ value });
      assert.equal(typeof String(value), 'string');
      assert.ok(Number.isNaN(Number(value)));
      assert.equal(value === 1, false);
      assert.equal((value as { toJSON?: unknown }).toJSON, undefined);
      assert.equal((value as { then?: unknown }).then, undefined);
      assert.equal((value as { [Symbol.iterator]?: unknown })[Symbol.iterator], undefined);
      assert.equal(Object.hasOwn(value as object, 'anything'), false);
      assert.deepEqual(value, value);
      assert.notDeepEqual(value, { a: 1 });
      assert.throws(() => structuredClone(value));
      assert.equal(Object.prototype.toString.call(value).startsWith('[object '), true);
      assert.doesNotThrow(() => Object.entries(value as object));
    }
    assert.deepEqual(called, []);
  });

  it('is an object at its root: only procedures are called', () => {
    const { client } = create();
    assert.equal(typeof client, 'object');
    assert.throws(() => (client as unknown as () => void)(), TypeError);
    assert.equal(typeof client.call, 'function');
  });
});
