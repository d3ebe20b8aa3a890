import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Router } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { until } from '../turns.ts';
import { lost, Running, resultOf } from './running.ts';

const broken = (): never => {
  throw new Error('the logger is broken');
};

describe('a logger that fails loses its lines, which are counted, and nothing else', () => {
  for (const [how, write] of [
    ['throws', broken],
    ['rejects', async () => broken()],
  ] as const) {
    test(how, async (t) => {
      const events: unknown[] = [];
      const log = ({ event }: { readonly event?: unknown }): unknown => {
        events.push(event);
        return write();
      };
      const running = await Running.start(t, {
        log: { debug: log, info: log, warn: log, error: log },
        accessLog: true,
      });
      const { dispatcher } = running;
      const before = await lostOutput(running);
      assert.equal(resultOf(await running.ask({ method: 'in.thread', id: 1 })), 0);
      await running.ask({ method: 'throwLater', id: 1 });
      // Its line comes in a message of its thread.
      await until(() => events.includes('worker-error'));
      assert.equal(await running.ask({ method: 'die', id: 'd' }), lost('d', 'exit'));
      const thread = resultOf(await running.ask({ method: 'out.thread', id: 1 }));
      assert.deepEqual(running.threads, [thread]);
      assert.equal(dispatcher.stats().pool?.deaths, 1);
      for (const event of ['call', 'worker-lost']) assert.ok(events.includes(event), event);
      // Four calls, the late throw and the lost thread.
      await until(async () => (await lostOutput(running)) >= before + 6);
      await dispatcher.close(0);
    });
  }
});

async function lostOutput({ dispatcher }: TestService): Promise<number> {
  const snapshot = await dispatcher.metrics?.read();
  return snapshot?.counters.lostOutput ?? Number.NaN;
}

/** Thrown values that throw when they are read. */
const values: Readonly<Record<string, () => unknown>> = {
  'an Error with getters that throw': () => {
    const error = new Error('');
    for (const name of ['stack', 'message', 'name', 'cause', 'code'])
      Object.defineProperty(error, name, { get: broken });
    return error;
  },
  'an Error whose members are symbols': () =>
    Object.assign(new Error(''), { stack: Symbol('stack'), message: Symbol('message') }),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  'an object without a prototype': () => Object.create(null),
  'a symbol': () => Symbol('thrown'),
};

describe('a function of the operator that throws a value which can not be read is told of, and no call notices', () => {
  const services = {
    onCall: (fail: () => never) => ({ onCall: (): unknown => fail() }),
    'onCall, asynchronously': (fail: () => never) => ({ onCall: async () => fail() }),
    fairBy: (fail: () => never) => ({ fairBy: fail }),
  };
  for (const [hook, optionsOf] of Object.entries(services)) {
    for (const [name, make] of Object.entries(values)) {
      test(`${hook}: ${name}`, async (t) => {
        const router = new Router();
        router.rpc({ name: 'one', placement: 'inline' }, () => 1);
        const fail = (): never => {
          throw make();
        };
        const service = TestService.make(t, {
          router,
          maxInFlightPerCaller: 5,
          ...optionsOf(fail),
        });
        for (const id of [1, 2])
          assert.equal(resultOf(await service.ask({ method: 'one', id })), 1);
        await until(() => service.lines.some(({ level }) => level === 'error'));
        const [line] = service.lines.filter(({ level }) => level === 'error');
        assert.equal(typeof line?.fields.detail, 'string');
      });
    }
  }
});
