import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { createClient, type Fetch, type Hints } from '../../src/client/index.ts';
import { createCaller, getRegistrySchema, handleRequest, Router, Type } from '../../src/index.ts';
import { generate, runsCommands } from '../codegen/command.ts';

/** A server whose replies to attempts come from `answer`; keeps the bodies. */
function server(answer: (request: { id: number; params?: unknown }, attempt: number) => unknown) {
  const bodies: string[] = [];
  const fetch: Fetch = async (_url, { body }) => {
    bodies.push(body);
    const request = JSON.parse(body) as { id: number };
    const reply = await answer(request, bodies.length);
    if (reply instanceof Error) throw reply;
    return { status: 200, headers: { get: () => null }, text: async () => JSON.stringify(reply) };
  };
  return { fetch, bodies };
}

const router = new Router();
router.rpc(
  {
    name: 'images.invert',
    effects: { readOnly: true },
    params: { data: Type.Base64(), extra: Type.Optional(Type.Array(Type.Base64())) },
    returns: Type.Object({
      data: Type.Base64(),
      'odd/~name': Type.Array(Type.Union([Type.Base64(), Type.Null()])),
    }),
  },
  ({ data, extra = [] }) => ({
    data: data.map((byte) => 255 - byte),
    'odd/~name': [null, ...extra],
  }),
);
router.rpc({ name: 'plain' }, () => 1);

interface Contract {
  'images.invert': {
    params: { data: Uint8Array; extra?: Uint8Array[] };
    result: { data: Uint8Array; 'odd/~name': (Uint8Array | null)[] };
  };
}

/** The hints of the file that is generated for the router. */
async function generatedHints(): Promise<Hints> {
  const file = await generate(getRegistrySchema(router));
  const [, text] = /export const hints = (\{[\s\S]*?\n\});/.exec(file) ?? [];
  assert.ok(text !== undefined);
  return runInNewContext(`JSON.parse(JSON.stringify(${text}))`) as Hints;
}

describe('hints', () => {
  runsCommands();
  let hints: Hints;
  before(async () => {
    hints = await generatedHints();
  });

  it('are generated where there is something to say', () => {
    assert.deepEqual(structuredClone(hints), {
      'images.invert': { readOnly: true, sendsBytes: true, bytes: ['/data', '/odd~1~0name/*'] },
    });
  });

  it('carry bytes both ways', async () => {
    const { fetch, bodies } = server((request) => handleRequest(request, router));
    const client = createClient<Contract>({ url: 'http://x', fetch, hints });
    const large = new Uint8Array(100_003).map((_, index) => index % 251);
    for (const data of [
      new Uint8Array([0, 127, 255]),
      Buffer.from('abc'),
      large,
      new Uint8Array(0),
    ]) {
      const result = await client.images.invert({ data, extra: [data] });
      assert.deepEqual(result.data, new Uint8Array(data.map((byte) => 255 - byte)));
      assert.deepEqual(result['odd/~name'], [null, new Uint8Array(data)]);
    }
    assert.match(bodies[0]!, /"params":\{"data":"AH\/\/?[^"]*","extra":\["AH/);
    const [outcome] = await client.batch([['images.invert', { data: new Uint8Array([1]) }]]);
    assert.deepEqual(outcome.ok && outcome.result.data, new Uint8Array([254]));
  });

  it('are what bytes need: without them the call is refused, and nothing is sent', async () => {
    const { fetch, bodies } = server(({ id }) => ({ jsonrpc: '2.0', id, result: null }));
    const refused =
      /^TypeError: to send bytes, declare Type\.Base64\(\) and add hints to createClient$/;
    for (const own of [undefined, {}, { m: { bytes: ['/data'] } }]) {
      const client = createClient({ url: 'http://x', fetch, hints: own });
      for (const data of [new Uint8Array([1]), Buffer.from('a'), new Uint8Array(0)]) {
        for (const params of [{ data }, [data], { deep: [{ n: 1, data }] }, { n: 1, data }]) {
          await assert.rejects(client.call('m', params), refused);
          await assert.rejects(client.batch([['n'], ['m', params]]), refused);
        }
      }
    }
    assert.equal(bodies.length, 0);
    const client = createClient({ url: 'http://x', fetch });
    const alike = { a: { 0: 1 }, b: {}, c: '{"0":1}', d: { type: 'Buffer', data: [1] }, e: [[]] };
    await client.call('m', alike);
    assert.deepEqual(JSON.parse(bodies[0] ?? '').params, alike);
  });

  it('leave alone a result of another shape', async () => {
    for (const result of [
      null,
      5,
      'text',
      [],
      { data: 5 },
      { data: { data: 1 } },
      { 'odd/~name': 'x' },
    ]) {
      const { fetch } = server(({ id }) => ({ jsonrpc: '2.0', id, result }));
      const client = createClient<Contract>({ url: 'http://x', fetch, hints });
      assert.deepEqual(await client.images.invert({ data: new Uint8Array(1) }), result);
    }
  });

  it('have a call sent again after a lost connection, where that does no harm', async () => {
    for (const [hint, attempts] of [
      [{ readOnly: true }, 2],
      [{ readOnly: false, idempotent: true }, 2],
      [{}, 1],
    ] as const) {
      const { fetch, bodies } = server(({ id }, attempt) =>
        attempt === 1 ? new Error('reset') : { jsonrpc: '2.0', id, result: 1 },
      );
      const client = createClient({ url: 'http://x', fetch, hints: { m: hint } });
      await client.call('m').catch(() => {});
      assert.equal(bodies.length, attempts);
    }
    const { fetch, bodies } = server(() => new Error('reset'));
    const client = createClient({ url: 'http://x', fetch, hints: { m: { readOnly: true } } });
    await assert.rejects(client.call('m', {}, { idempotent: false }));
    await assert.rejects(client.call('toString'));
    assert.equal(bodies.length, 2, 'what the call says comes first, and no name is inherited');
  });
});

describe('a caller in this process', () => {
  it('has the hints of its router: bytes are bytes', async () => {
    const caller = createCaller(router) as {
      call(name: string, params: unknown): Promise<unknown>;
    };
    const data = new Uint8Array([1, 2]);
    assert.deepEqual(await caller.call('images.invert', { data, extra: [data] }), {
      data: new Uint8Array([254, 253]),
      'odd/~name': [null, data],
    });
  });

  it('finds the bytes behind references, once', async () => {
    const own = new Router();
    const tree = Type.Recursive((This) =>
      Type.Object({ data: Type.Base64(), next: Type.Optional(This) }),
    );
    own.rpc({ name: 'tree', returns: tree }, () => ({ data: new Uint8Array([1]) }));
    const modules = Type.Module({ A: Type.Object({ b: Type.Ref('B') }), B: Type.Base64() });
    own.rpc({ name: 'module', returns: modules.Import('A') }, () => ({ b: new Uint8Array([2]) }));
    const api = createCaller(own);
    assert.deepEqual(await api.call('tree'), { data: new Uint8Array([1]) });
    assert.deepEqual(await api.call('module'), { b: new Uint8Array([2]) });
  });
});
