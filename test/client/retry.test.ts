import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import {
  createClient,
  type FetchResponse,
  hasCode,
  type Outcome,
  RpcError,
  RpcTransportError,
} from '../../src/client/index.ts';
import { retryDelay } from '../../src/client/run.ts';
import { answering, answerJson, result, serveRaw } from './raw-server.ts';

const ok: Outcome = { ok: true, result: 1 };
const failed = (code: number, data?: unknown): Outcome => ({
  ok: false,
  error: new RpcError(code, 'x', data, 'm'),
});
const lost = (facts: { status?: number; cause?: unknown }): Outcome => ({
  ok: false,
  error: new RpcTransportError('x', { url: 'http://x', ...facts }),
});

describe('retryDelay', () => {
  const delay = (
    outcomes: readonly Outcome[],
    { attempt = 0, retries = 3, idempotent = false, random = 0 } = {},
  ) => retryDelay(outcomes, attempt, { retries, idempotent }, random);

  it('repeats what never ran', () => {
    assert.equal(delay([failed(-32000)]), 50);
    assert.equal(delay([failed(-32003)]), 50);
    assert.equal(delay([failed(-32000), failed(-32003)]), 50);
  });

  it('repeats nothing else', () => {
    for (const code of [-32700, -32600, -32601, -32602, -32603, -32001, -32002, -32004, 0, 404]) {
      assert.equal(delay([failed(code)]), undefined, String(code));
    }
    for (const facts of [{ cause: new Error() }, { status: 502 }, { status: 200 }]) {
      assert.equal(delay([lost(facts)]), undefined);
    }
    assert.equal(delay([ok]), undefined);
  });

  it('repeats a batch only if none of it ran', () => {
    assert.equal(delay([failed(-32000), ok]), undefined);
    assert.equal(delay([failed(-32000), failed(404)]), undefined);
    assert.equal(delay([failed(-32000), failed(-32002)]), undefined);
    assert.equal(delay([failed(-32000), failed(-32002)], { idempotent: true }), 50);
  });

  it('repeats what is idempotent where it may have been lost', () => {
    const again = [
      failed(-32002),
      lost({ cause: 1 }),
      lost({ status: 502 }),
      lost({ status: 429 }),
    ];
    for (const one of again) assert.equal(delay([one], { idempotent: true }), 50);
    const never = [failed(-32001), failed(-32603), failed(404), lost({ status: 200 })];
    never.push(lost({ status: 302 }), lost({ status: 404 }));
    for (const one of never) assert.equal(delay([one], { idempotent: true }), undefined);
  });

  it('stops after `retries`', () => {
    assert.equal(delay([failed(-32000)], { attempt: 3 }), undefined);
    assert.equal(delay([failed(-32000)], { retries: 0 }), undefined);
  });

  it('waits twice as long each time, spread over as much again', () => {
    const waits = [0, 1, 2].map((attempt) => delay([failed(-32000)], { attempt }));
    assert.deepEqual(waits, [50, 100, 200]);
    assert.equal(delay([failed(-32000)], { random: 0.5 }), 75);
  });

  it('waits no less than the server asks, and not for ever', () => {
    const asked = (retryAfterMs: unknown) => delay([failed(-32000, { retryAfterMs })]);
    assert.equal(asked(700), 700);
    assert.equal(asked(1), 50);
    assert.equal(asked(30_001), undefined);
    assert.equal(asked(Infinity), undefined);
    for (const odd of ['700', null, -5, {}]) assert.equal(asked(odd), 50);
    assert.equal(delay([failed(-32000, null)]), 50);
    assert.equal(
      delay([failed(-32000, { retryAfterMs: 60 }), failed(-32000, { retryAfterMs: 90 })]),
      90,
    );
  });
});

describe('the client', () => {
  const overloaded = (id: number | undefined) => ({
    id,
    error: { code: -32000, message: 'Server overloaded', data: { retryAfterMs: 1 } },
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
        error: { code: -32000, message: 'x', data: { retryAfterMs: 20_000 } },
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
      const data = { retryAfterMs: 29_000 };
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
