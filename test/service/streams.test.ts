import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from '@sinclair/typebox';
import { Dispatcher, Router } from '../../src/index.ts';
import { drained } from '../drained.ts';
import { recorder } from '../harness.ts';

/** A service of streams on this thread. `ended` tells of the `finally` blocks that ran. */
function createService(options: object = {}) {
  const router = new Router();
  const ended: string[] = [];
  const n = Type.Object({ n: Type.Integer() });
  router.rpc({ name: 'count', params: n, yields: Type.Number() }, async function* ({ n: last }) {
    try {
      for (let i = 0; i < last; i++) yield i;
      return 'all';
    } finally {
      ended.push('count');
    }
  });
  router.rpc({ name: 'list', stream: { collect: true } }, function* list() {
    try {
      for (let i = 0; ; i++) yield 'x'.repeat(i);
    } finally {
      ended.push('list');
    }
  });
  router.rpc({ name: 'few', stream: { collect: true } }, function* few() {
    yield* [1, 2, 3];
  });
  router.rpc({ name: 'bad', yields: Type.Number() }, function* bad() {
    yield 1;
    yield JSON.parse('"two"');
  });
  const loose = [{ value: 1 }, { done: 0, value: 2 }, { done: 1, value: 'all' }];
  for (const isLater of [false, true]) {
    const name = isLater ? 'looseLater' : 'loose';
    router.rpc({ name, stream: { collect: true } }, (() => {
      const left = [...loose];
      const next = () => left.shift() ?? assert.fail('next() came after the end');
      return isLater
        ? { [Symbol.asyncIterator]: () => ({ next: async () => next() }) }
        : { [Symbol.iterator]: () => ({ next }) };
    }) as never);
  }
  router.rpc({ name: 'none', stream: true }, (() => 7) as never);
  router.rpc({ name: 'plain' }, () => 7);
  const { log } = recorder();
  return { service: new Dispatcher({ router, log, maxReplyBytes: 10_000, ...options }), ended };
}

const call = (method: string, params?: object) => ({ jsonrpc: '2.0', id: 1, method, params });

describe('streams of the same process', () => {
  test('give every value in order, then what was returned', async () => {
    const { service, ended } = createService();
    const { values, returned } = await drained(service.stream(call('count', { n: 1000 })));
    assert.deepEqual(
      values,
      Array.from({ length: 1000 }, (_, i) => i),
    );
    assert.equal(returned, 'all');
    assert.deepEqual(ended, ['count']);
    await service.close();
  });

  test('end where done is truthy, as for any loop', async () => {
    const { service } = createService();
    for (const name of ['loose', 'looseLater']) {
      const read = await drained(service.stream(call(name)));
      assert.deepEqual(read, { values: [1, 2], returned: 'all' });
      // Collected: nobody reads the values one by one.
      const reply = (await service.dispatch(call(name))) as { result: unknown };
      assert.deepEqual(reply.result, [1, 2]);
    }
    await service.close();
  });

  test('a value that does not match yields ends the stream; what came before was given', async () => {
    const { service } = createService();
    const stream = service.stream(call('bad'));
    assert.deepEqual(await stream.next(), { done: false, value: 1 });
    await assert.rejects(stream.next(), { code: -32603 });
    await service.close();
  });

  test('fail before they open as any call does', async () => {
    const { service } = createService();
    await assert.rejects(service.stream(call('nobody')).next(), { code: -32601 });
    await assert.rejects(service.stream(call('count', { n: 'x' })).next(), { code: -32602 });
    await assert.rejects(service.stream(call('none')).next(), { code: -32603 });
    assert.deepEqual(await service.stream(call('plain')).next(), { done: true, value: 7 });
    await service.close();
  });
});

describe('a stream that nobody can read', () => {
  test('is collected where its procedure says so, in a batch too, within maxReplyBytes', async () => {
    const { service, ended } = createService();
    const one = (await service.dispatch(call('few'))) as { result: unknown };
    assert.deepEqual(one.result, [1, 2, 3]);
    const batch = (await service.dispatch([call('few'), call('plain'), call('few')])) as object[];
    assert.deepEqual(
      batch.map((reply) => (reply as { result: unknown }).result),
      [[1, 2, 3], 7, [1, 2, 3]],
    );
    const large = (await service.dispatch(call('list'))) as { error: { code: number } };
    assert.equal(large.error.code, -32004);
    assert.deepEqual(ended, ['list']);
    await service.close();
  });

  test('is refused where its procedure does not; without an id nothing runs', async () => {
    const { service, ended } = createService();
    assert.deepEqual(await service.dispatch(call('count', { n: 1 })), {
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32601,
        message: 'Method not found',
        data: {
          method: 'count',
          reason: 'it streams: accept text/event-stream, or use WebSocket',
        },
      },
    });
    const silent = { jsonrpc: '2.0', method: 'few' };
    assert.equal(await service.dispatch(silent), undefined);
    assert.deepEqual(ended, []);
    await service.close();
  });
});
