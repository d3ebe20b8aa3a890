import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallEvent } from '../../src/index.ts';
import { Dispatcher, Router, RpcError } from '../../src/index.ts';
import { type Lifetime, TestService } from '../harness.ts';
import { until } from '../turns.ts';
import { Running, resultOf } from './running.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** What can be told beforehand of an event. */
function known({ waitMs, runMs, ...rest }: CallEvent) {
  assert.ok(waitMs >= 0 && (runMs === undefined || runMs >= 0));
  return { ...rest, ran: runMs !== undefined };
}

describe('onCall', () => {
  const events: CallEvent[] = [];
  const running = Running.suite({ onCall: (event) => events.push(event) });

  test('is told of each call, in both places', async () => {
    const options = { remoteAddress: '192.0.2.1', traceparent };
    await running.dispatcher.dispatchText(
      JSON.stringify([
        { method: 'in.length', params: { text: 'secret' }, id: 1 },
        { method: 'out.length', params: { text: 'secret' }, id: 'two' },
        { method: 'out.length', params: { text: 'secret' } },
        { method: 'nobody', id: null },
        {},
        { method: 'fail', id: 5 },
      ]),
      options,
    );
    const same = { ref: undefined, ...options };
    assert.deepEqual(
      events.map(known).sort((a, b) => String(a.id).localeCompare(String(b.id))),
      [
        { method: 'in.length', id: 1, code: 0, place: 'inline', ran: true, ...same },
        { method: 'fail', id: 5, code: 1, place: 'worker', ran: true, ...same },
        { method: 'nobody', id: null, code: -32601, place: 'none', ran: false, ...same },
        { method: undefined, id: null, code: -32600, place: 'none', ran: false, ...same },
        { method: 'out.length', id: 'two', code: 0, place: 'worker', ran: true, ...same },
        { method: 'out.length', id: undefined, code: 0, place: 'worker', ran: true, ...same },
      ],
    );
    assert.ok(events.every((event) => Object.isFrozen(event)));
    assert.doesNotMatch(JSON.stringify(events), /secret/);
  });

  for (const method of ['in.repeat', 'out.repeat']) {
    test(`has the ref of a -32603, which the log has with the stack: ${method}`, async () => {
      events.length = 0;
      running.lines.length = 0;
      const reply = await running.ask({ method, params: {}, id: 1 });
      const [, ref] = /"code":-32603.*"data":\{"ref":"([0-9a-f-]+)"\}/.exec(String(reply)) ?? [];
      assert.ok(ref !== undefined, reply);
      assert.deepEqual(
        events.map((event) => [event.method, event.code, event.ref]),
        [[method, -32603, ref]],
      );
      const logged = () => running.lines.find(({ fields }) => fields.event === 'call-failed');
      // A worker's notice of it may be read behind its result.
      await until(() => logged() !== undefined);
      const line = logged();
      assert.equal(line?.fields.ref, ref);
      assert.match(String(line?.fields.detail), /^TypeError: .*\n +at .*procedures\.[jt]s/s);
    });
  }
});

describe('observers', () => {
  function rig(t: Lifetime, onCall: unknown) {
    const router = new Router();
    router.rpc({ name: 'one', placement: 'inline' }, () => 1);
    return TestService.make(t, { router, onCall: onCall as () => void });
  }

  test('that throw or reject are told of once each, and no call and no other observer notices', async (t) => {
    let told = 0;
    const throws = () => {
      throw new RpcError(1, 'thrown');
    };
    const rejects = () => Promise.reject(new Error('rejected'));
    const counts = () => {
      told++;
    };
    const { dispatcher, lines } = rig(t, [throws, rejects, counts]);
    for (let id = 0; id < 3; id++) {
      const reply = await dispatcher.dispatchText(`{"method":"one","id":${id}}`);
      assert.equal(resultOf(reply), 1);
    }
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(told, 3);
    assert.deepEqual(
      lines.map(({ fields }) => [fields.event, String(fields.detail).split('\n')[0]]),
      [
        ['observer-failed', 'RpcError: thrown [1]'],
        ['observer-failed', 'Error: rejected'],
      ],
    );
  });

  for (const [name, value] of [
    ['a text', 'x'],
    ['null', null],
    ['a list with a number', [() => {}, 1]],
  ] as const) {
    test(`must be functions: ${name}`, () => {
      assert.throws(
        () => rig({ after: () => {} }, value),
        /^StartupError: option onCall: expected a function or a list of them, got \w+$/,
      );
    });
  }
});

describe('the access log', () => {
  test('has one line for each call, without its params, and shows no more of a name than it must', async (t) => {
    const running = Running.make(t, { accessLog: true });
    const hostile = `${'x'.repeat(250)}\n\u001b`;
    await running.ask([
      { method: 'in.length', params: { text: 'secret' }, id: 'a' },
      { method: 'out.length', params: { text: 'secret' } },
      { method: hostile, params: { text: 'secret' }, id: 'b' },
      { method: 'out.repeat', params: { secret: 1 }, id: 'c' },
    ]);
    const calls = running.lines.filter(({ fields }) => fields.event === 'call');
    const shown = calls.map(({ level, fields }) => {
      const { id, ms, waitMs, ref, ...rest } = fields;
      assert.ok(Number(ms) >= Number(waitMs), `${String(ms)} of which ${String(waitMs)}`);
      return { level, id, ...rest, hasRef: typeof ref === 'string' };
    });
    const none = { remoteAddress: undefined, traceparent: undefined };
    const same = { level: 'info', event: 'call', ...none, hasRef: false };
    assert.deepEqual(
      shown.sort((a, b) => String(a.id).localeCompare(String(b.id))),
      [
        { ...same, method: 'in.length', id: 'a', code: 0, place: 'inline' },
        { ...same, method: `${'x'.repeat(64)}…`, id: 'b', code: -32601, place: 'none' },
        { ...same, method: 'out.repeat', id: 'c', code: -32603, place: 'worker', hasRef: true },
        { ...same, method: 'out.length', id: undefined, code: 0, place: 'worker' },
      ],
    );
    assert.doesNotMatch(JSON.stringify(calls), /secret/);
  });

  test('is off by itself', async (t) => {
    const running = Running.make(t);
    await running.ask({ method: 'in.thread', id: 1 });
    const events = running.lines.map(({ fields }) => fields.event);
    assert.deepEqual(events, ['modules-loaded', 'returns-missing']);
  });

  test('needs lines of the level info', () => {
    assert.throws(
      () => new Dispatcher({ router: new Router(), accessLog: true, logLevel: 'warn' }),
      /^StartupError: option accessLog: its lines have the level info, and logLevel is warn: /,
    );
  });
});
