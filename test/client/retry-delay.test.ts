import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Outcome, RpcError, RpcTransportError } from '../../src/client/index.ts';
import { retryDelay } from '../../src/client/run.ts';

const ok: Outcome = { ok: true, result: 1 };
const failed = (code: number, data: unknown = { retry: true }): Outcome => ({
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

  it('repeats what the server says may be sent again, by retry: true', () => {
    for (const code of [-32000, -32002, -32003]) {
      assert.equal(delay([failed(code)]), 50);
      for (const data of [null, {}, { retry: 'true' }, [true], 'retry'])
        assert.equal(delay([failed(code, data)]), undefined);
    }
    assert.equal(delay([failed(-32000), failed(-32003)]), 50);
  });

  it('repeats nothing else', () => {
    for (const code of [-32700, -32600, -32601, -32602, -32603, -32001, -32004, 0, 404]) {
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
    assert.equal(delay([failed(-32000), failed(-32002, {})]), undefined);
    assert.equal(delay([failed(-32000), failed(-32002, {})], { idempotent: true }), 50);
  });

  it('repeats what is idempotent where it may have been lost', () => {
    const again = [
      failed(-32002, {}),
      lost({ cause: 1 }),
      lost({ status: 502 }),
      lost({ status: 429 }),
    ];
    for (const one of again) assert.equal(delay([one], { idempotent: true }), 50);
    const never = [failed(-32001), failed(-32603), failed(404), lost({ status: 200 })];
    never.push(lost({ status: 302 }), lost({ status: 404 }));
    for (const one of never) assert.equal(delay([one], { idempotent: true }), undefined);
  });

  it('waits twice as long each time, spread over as much again', () => {
    const waits = [0, 1, 2].map((attempt) => delay([failed(-32000)], { attempt }));
    assert.deepEqual(waits, [50, 100, 200]);
    assert.equal(delay([failed(-32000)], { random: 0.5 }), 75);
  });

  it('waits no less than the server asks, and not for ever', () => {
    const asked = (retryAfterMs: unknown) => delay([failed(-32000, { retryAfterMs, retry: true })]);
    assert.equal(asked(700), 700);
    assert.equal(asked(1), 50);
    assert.equal(asked(30_001), undefined);
    assert.equal(asked(Infinity), undefined);
    for (const odd of ['700', null, -5, {}]) assert.equal(asked(odd), 50);
    assert.equal(
      delay([60, 90].map((retryAfterMs) => failed(-32000, { retryAfterMs, retry: true }))),
      90,
    );
  });
});
