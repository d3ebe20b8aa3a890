import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { textOfReply } from '../../src/core/protocol/reply.ts';
import { Dispatcher, type DispatcherOptions, Router } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { answerOf } from '../replies.ts';
import { fixture } from './running.ts';

const call = (id: number, method = 'inline'): object => ({ jsonrpc: '2.0', id, method });
const note = { jsonrpc: '2.0', method: 'inline' };
const cancelledReply = (id: number | null): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32003, message: 'Cancelled', data: { retry: true } },
});

/** A service whose start waits until `go` is called. */
class Held {
  readonly dispatcher: Dispatcher;
  go = (): void => {};

  constructor(t: TestContext, options: DispatcherOptions = {}) {
    (globalThis as { heldStart?: Promise<void> }).heldStart = new Promise((resolve) => {
      this.go = resolve;
    });
    const modules = [fixture('held-start.mjs')];
    ({ dispatcher: this.dispatcher } = new TestService({ modules, ...options }));
    t.after(async () => {
      this.go();
      await this.dispatcher.close();
    });
  }

  /** As a transport does. */
  async handle(payload: unknown, scope = new RequestScope()): Promise<unknown> {
    const text = textOfReply(await answerOf(this.dispatcher, JSON.stringify(payload), scope));
    return text === undefined ? undefined : JSON.parse(text);
  }
}

/** The code of the error that a response has. */
const codeOf = (response: unknown): number | undefined =>
  (response as { error?: { code: number } }).error?.code;

/** What each request is answered where the service is closed before it has started. */
const whenClosed: readonly [name: string, payload: unknown, response: unknown][] = [
  ['a call', call(1), cancelledReply(1)],
  ['a notification', note, undefined],
  ['a batch', [call(1), note, call(2, 'pooled')], cancelledReply(null)],
  ['a batch of notifications', [note, note], undefined],
  ['a name that may not exist', call(1, 'unknown'), cancelledReply(1)],
];

describe('requests that wait for the start', () => {
  test('are answered when it has ended, and run then', async (t) => {
    const held = new Held(t);
    const waiting = [held.handle(call(1)), held.dispatcher.dispatch([call(2, 'pooled'), note])];
    held.go();
    assert.deepEqual(await Promise.all(waiting), [
      { jsonrpc: '2.0', id: 1, result: 'inline' },
      [{ jsonrpc: '2.0', id: 2, result: 'pooled' }],
    ]);
  });

  test('are answered at their deadline, though the start goes on', async (t) => {
    const held = new Held(t);
    const byTransport = held.handle(call(1), new RequestScope({ timeoutMs: 20 }));
    assert.equal(codeOf(await byTransport), -32001);
    assert.equal(codeOf(await held.dispatcher.dispatch(call(1), { timeoutMs: 20 })), -32001);
    await assert.rejects(held.dispatcher.stream(call(1), { timeoutMs: 20 }).next(), {
      code: -32001,
    });
    assert.equal(held.dispatcher.state, 'starting');
  });

  test('are cancelled when their caller leaves, though the start goes on', async (t) => {
    const held = new Held(t);
    const scope = new RequestScope();
    const byTransport = held.handle(call(1), scope);
    const caller = new AbortController();
    const byProgram = held.dispatcher.dispatch(call(1), { signal: caller.signal });
    scope.cancel();
    caller.abort();
    assert.deepEqual(await Promise.all([byTransport, byProgram]), [
      cancelledReply(1),
      cancelledReply(1),
    ]);
    const { signal } = caller;
    assert.deepEqual(await held.dispatcher.dispatch(call(2), { signal }), cancelledReply(2));
    assert.equal(held.dispatcher.state, 'starting');
  });

  for (const [name, payload, response] of whenClosed) {
    test(`${name}, and the service is closed meanwhile`, async (t) => {
      const held = new Held(t);
      const { dispatcher } = held;
      const waiting = [
        held.handle(payload),
        dispatcher.dispatch(payload),
        dispatcher
          .dispatchText(JSON.stringify(payload))
          .then((text) => text && (JSON.parse(text) as unknown)),
      ];
      await dispatcher.close();
      assert.deepEqual(await Promise.all(waiting), [response, response, response]);
    });

    test(`${name}, to a service that was closed before it started`, async (t) => {
      const held = new Held(t);
      await held.dispatcher.close();
      await assert.rejects(held.dispatcher.ready(), { name: 'StartupError' });
      const replies = [held.handle(payload), held.dispatcher.dispatch(payload)];
      assert.deepEqual(await Promise.all(replies), [response, response]);
    });
  }

  test('a program hears why the start has failed, a caller over a transport that nothing ran', async (t) => {
    const held = new Held(t, { modules: [fixture('no-such-module.mjs')] });
    const failed = { name: 'StartupError', message: /no-such-module\.mjs/ };
    await assert.rejects(held.dispatcher.dispatch(call(1)), failed);
    await assert.rejects(held.dispatcher.stream(call(1)).next(), failed);
    assert.deepEqual(await held.handle(call(1)), cancelledReply(1));
    assert.equal(await held.handle(note), undefined);
    await held.dispatcher.close();
    assert.deepEqual(await held.dispatcher.dispatch(call(1)), cancelledReply(1));
  });
});

test('a grace that is no number is refused', async () => {
  const dispatcher = new Dispatcher({ router: new Router(), logLevel: 'silent' });
  for (const grace of [Number.NaN, '5', null] as never[]) {
    const message = /: the grace must be milliseconds, not /;
    assert.throws(() => dispatcher.close(grace), { name: 'TypeError', message });
    assert.throws(() => dispatcher.endStreams(grace), { name: 'TypeError', message });
  }
  await dispatcher.close();
});
