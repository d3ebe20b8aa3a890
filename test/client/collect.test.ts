import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { createClient, RpcTransportError } from '../../src/client/index.ts';
import { deferred } from '../turns.ts';
import { answering, answerJson, result, serveRaw } from './raw-server.ts';

describe('automatic batches', () => {
  it('hold one turn of calls, up to the limit', async (t) => {
    const { url, received } = await serveRaw(t, answering(result));
    const client = createClient({ url, batch: { max: 3 } });
    const call = async () => client.call('m');
    await Promise.all([call(), call(), Promise.resolve().then(call), call()]);
    assert.deepEqual(
      received.map(({ ids }) => ids.length).toSorted((a, b) => a - b),
      [1, 3],
    );
    assert.ok(
      received.some(({ text }) => text.startsWith('{')),
      'a call alone is no batch',
    );
  });

  it('leave a batch of the caller as it is', async (t) => {
    const { url, received } = await serveRaw(t, answering(result));
    const client = createClient({ url, batch: { max: 10 } });
    await Promise.all([client.batch([['a'], ['b']]), client.call('c'), client.call('d')]);
    assert.deepEqual(
      received.map(({ ids }) => ids.length),
      [2, 2],
    );
  });

  /** Two calls in one batch that the server holds until `answer`. */
  async function hold(t: TestContext, signals: readonly AbortSignal[]) {
    let held = (): void => {};
    let closed: Promise<unknown> = Promise.resolve();
    const arrived = deferred<void>();
    const { url, received } = await serveRaw(t, (one, response) => {
      closed = once(response, 'close');
      held = () => answering(result)(one, response);
      arrived.resolve();
    });
    const client = createClient({ url, batch: { max: 10 } });
    const calls = signals.map((signal) => client.call('m', {}, { signal }));
    await arrived.promise;
    assert.equal(received[0]?.ids.length, 2);
    return { calls, answer: () => held(), closed };
  }

  it('go on when one of their callers leaves', async (t) => {
    const leaving = new AbortController();
    const staying = new AbortController();
    const { calls, answer } = await hold(t, [leaving.signal, staying.signal]);
    leaving.abort();
    await assert.rejects(calls[0]!, { name: 'AbortError' });
    answer();
    assert.match(String(await calls[1]), /^of /);
  });

  it('end with their last caller', async (t) => {
    const controller = new AbortController();
    const { calls, closed } = await hold(t, [controller.signal, controller.signal]);
    controller.abort();
    for (const call of calls) await assert.rejects(call, { name: 'AbortError' });
    await closed;
  });

  it('leave out who left before they went', async (t) => {
    const { url, received } = await serveRaw(t, answering(result));
    const client = createClient({ url, batch: { max: 10 } });
    const controller = new AbortController();
    const left = client.call('a', {}, { signal: controller.signal });
    const stays = client.call('b');
    controller.abort();
    await assert.rejects(left, { name: 'AbortError' });
    await stays;
    assert.doesNotMatch(received.map(({ text }) => text).join(), /"a"/);
  });

  it('tell the server the latest of their deadlines, and keep each one here', async (t) => {
    const { url, received } = await serveRaw(t, answering(result));
    const client = createClient({ url, batch: { max: 10 } });
    const send = (...limits: (number | undefined)[]) =>
      Promise.all(limits.map((timeoutMs) => client.call('m', [], { timeoutMs })));
    await send(100_000, 900_000);
    await send(100_000, undefined);
    const [latest, none] = received.map(({ headers }) => headers['rpc-timeout-ms']);
    assert.ok(Number(latest) > 100_000 && Number(latest) <= 900_000);
    assert.equal(none, undefined);
  });

  it('refuse a reply without an id, also beside a notification', async (t) => {
    const { url } = await serveRaw(t, ({ ids }, response) =>
      answerJson(response, [...ids.filter((id) => id !== undefined).map(result), { result: 1 }]),
    );
    const client = createClient({ url, batch: { max: 10 } });
    const calls = await Promise.allSettled([client.notify('a'), client.call('b')]);
    for (const call of calls) {
      assert.ok(call.status === 'rejected' && call.reason instanceof RpcTransportError);
    }
  });
});
