import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import {
  createClient,
  type FetchResponse,
  hasCode,
  RpcTransportError,
} from '../../src/client/index.ts';
import { answering, answerJson, result, serveRaw } from './raw-server.ts';

describe('a retry of the client', () => {
  const overloaded = (id: number | undefined) => ({
    id,
    error: { code: -32000, message: 'Server overloaded', data: { retryAfterMs: 1, retry: true } },
  });

  it('sends again what was refused, with a new id', async (t) => {
    const { url, received } = await serveRaw(t, (one, response) =>
      answering(received.length < 3 ? overloaded : result)(one, response),
    );
    assert.match(String(await createClient({ url }).call('m', [1])), /^of /);
    assert.equal(received.length, 3);
    assert.equal(new Set(received.flatMap(({ ids }) => ids)).size, 3);
    const params = received.map(({ text }) => (JSON.parse(text) as { params: unknown }).params);
    assert.deepEqual(params, [[1], [1], [1]]);
  });

  it('gives the last refusal when its retries are used up', async (t) => {
    const { url, received } = await serveRaw(t, answering(overloaded));
    await assert.rejects(createClient({ url, retries: 1 }).call('m'), (e) => hasCode(e, -32000));
    assert.equal(received.length, 2);
    const none = createClient({ url }).call('m', {}, { retries: 0 });
    await assert.rejects(none, (e) => hasCode(e, -32000));
    assert.equal(received.length, 3);
  });

  it('gives a refusal at once when the deadline comes before the next attempt', async (t) => {
    const { url, received } = await serveRaw(t, (one, response) =>
      answering((id) => ({
        id,
        error: { code: -32000, message: 'x', data: { retryAfterMs: 20_000, retry: true } },
      }))(one, response),
    );
    const call = createClient({ url, timeoutMs: 19_000 }).call('m');
    await assert.rejects(call, (error) => hasCode(error, -32000));
    assert.equal(received.length, 1);
  });

  it('sends again what is idempotent after a lost connection, and nothing else', async (t) => {
    const { url, received } = await serveRaw(t, (one, response) => {
      if (received.length % 2 === 1) response.socket?.resetAndDestroy();
      else answering(result)(one, response);
    });
    const client = createClient({ url });
    assert.match(String(await client.call('m', {}, { idempotent: true })), /^of /);
    assert.equal(received.length, 2);
    await assert.rejects(client.call('m'), RpcTransportError);
    assert.equal(received.length, 3);
  });

  it('sends a batch again as a whole', async (t) => {
    const { url, received } = await serveRaw(t, (one, response) =>
      answering(received.length < 2 ? overloaded : result)(one, response),
    );
    const outcomes = await createClient({ url }).batch([['a'], ['b']]);
    assert.ok(outcomes.every(({ ok: isOk }) => isOk));
    assert.deepEqual(
      received.map(({ ids }) => ids.length),
      [2, 2],
    );
  });

  it('sends a batch again that was refused whole', async (t) => {
    const { url, received } = await serveRaw(t, (one, response) => {
      if (received.length === 1) answerJson(response, { ...overloaded(0), id: null });
      else answering(result)(one, response);
    });
    const outcomes = await createClient({ url }).batch([['a'], ['b']]);
    assert.ok(outcomes.every(({ ok: isOk }) => isOk));
  });

  it('stops waiting for the next attempt when it is aborted', async () => {
    const controller = new AbortController();
    let sent = 0;
    const fetch = async (_url: string, { body }: { body: string }): Promise<FetchResponse> => {
      sent += 1;
      const { id } = JSON.parse(body) as { id: number };
      const data = { retryAfterMs: 29_000, retry: true };
      // By the next turn of the event loop it has been read, and the client waits.
      const text = async () => {
        setImmediate(() => controller.abort());
        return JSON.stringify({ id, error: { code: -32000, message: 'x', data } });
      };
      return { status: 200, headers: new Headers(), text };
    };
    const timers = countTimers();
    const call = createClient({ url: 'http://x', fetch, timeoutMs: 100_000 }).call('m', [], {
      signal: controller.signal,
    });
    await assert.rejects(call, { name: 'AbortError' });
    assert.equal(sent, 1);
    assert.equal(countTimers(), timers, 'nothing is left that keeps the process alive');
    assert.deepEqual(getEventListeners(controller.signal, 'abort'), []);
  });

  it('leaves nothing behind on a signal that lives on', async (t) => {
    const { url } = await serveRaw(t, answering(result));
    const { signal } = new AbortController();
    const client = createClient({ url, batch: { max: 2 } });
    await Promise.all([1, 2, 3].map(() => client.call('m', [], { signal })));
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });
});

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
