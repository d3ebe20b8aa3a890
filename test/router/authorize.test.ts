import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from '@sinclair/typebox';
import { type CallContext, handleRequest, procedure, Router, RpcError } from '../../src/index.ts';
import { run } from './run.ts';

const params = Type.Object({ id: Type.Number(), note: Type.String({ default: 'none' }) });
type Params = { id: number; note: string };

function calling(
  authorize: (context: CallContext, params: Params) => unknown,
  given: unknown = { id: 1 },
  handler: (params: Params) => unknown = ({ id }) => id,
) {
  const ran: string[] = [];
  const router = new Router();
  router.rpc(
    {
      name: 'p',
      params,
      authorize: (context, named) => {
        ran.push(`authorize ${JSON.stringify(named)}`);
        return authorize(context as CallContext, named) as undefined;
      },
    },
    (named: Params) => {
      ran.push('handler');
      return handler(named);
    },
  );
  const controller = new AbortController();
  const { signal } = controller;
  return { called: run(router, 'p', given, { auth: { user: 'ann' }, signal }), ran, controller };
}

describe('authorize', () => {
  test('runs behind the validation, before the handler, with context and named params', async () => {
    let auth: unknown;
    const { called, ran } = calling(
      (context) => {
        ({ auth } = context);
      },
      [7],
    );
    assert.equal((await called).text, '7');
    assert.deepEqual(auth, { user: 'ann' });
    assert.deepEqual(ran, ['authorize {"id":7,"note":"none"}', 'handler']);
    const refused = calling(() => assert.fail('params come first'), { id: 'x' });
    assert.equal((await refused.called).code, -32602);
    assert.deepEqual(refused.ran, []);
  });

  for (const isLater of [false, true]) {
    const when = isLater ? 'later' : 'at once';
    const made = (act: () => unknown) => (isLater ? async () => act() : act);

    test(`an RpcError thrown ${when} reaches the caller whole, and the handler does not run`, async () => {
      const { called, ran } = calling(
        made(() => {
          throw new RpcError(4030, 'Not yours', { id: 1 });
        }),
      );
      const { code, text, faults } = await called;
      assert.equal(code, 4030);
      assert.equal(text, '{"code":4030,"message":"Not yours","data":{"id":1}}');
      assert.deepEqual([ran.length, faults], [1, []]);
    });

    test(`anything else thrown ${when} is a -32603 with a ref`, async () => {
      for (const thrown of [new Error('broken'), 'broken', null]) {
        const { called, ran } = calling(
          made(() => {
            throw thrown;
          }),
        );
        const { code, text, faults } = await called;
        assert.equal(code, -32603);
        assert.equal(JSON.parse(text).data.ref, faults[0]?.ref);
        assert.equal(faults[0]?.method, 'p');
        assert.equal(ran.length, 1);
      }
    });

    for (const value of [true, false, 0, '', null, {}]) {
      test(`a value returned ${when} lets nobody in: ${JSON.stringify(value)}`, async () => {
        const { called, ran } = calling(made(() => value));
        const { code, faults } = await called;
        assert.equal(code, -32603);
        assert.match(
          faults[0]?.detail ?? '',
          /authorize returned a value .* throw an RpcError to refuse/,
        );
        assert.equal(ran.length, 1);
      });
    }
  }

  test('a call whose caller has gone while it waited does not run', async () => {
    let proceed = () => {};
    let waits = () => {};
    const waiting = new Promise<void>((resolve) => (waits = resolve));
    const { called, ran, controller } = calling(() => {
      waits();
      return new Promise<void>((resolve) => (proceed = resolve));
    });
    await waiting;
    controller.abort();
    proceed();
    const { faults } = await called;
    await new Promise(setImmediate);
    assert.deepEqual([ran.length, faults], [1, []]);
  });

  test('must be a function', () => {
    for (const authorize of [true, 'admin', null, {}]) {
      assert.throws(() => procedure({ name: 'p', authorize: authorize as never }, () => 1), {
        name: 'RegistrationError',
        message: /^procedure "p": option authorize must be a function, got /,
      });
    }
  });

  test('goes with its procedure: merged, registered anew, decorated', async () => {
    const refuse = () => {
      throw new RpcError(4030, 'Not yours');
    };
    const inner = new Router();
    inner.rpc({ name: 'a', authorize: refuse }, () => 'a');
    class Service {
      @inner.rpc({ name: 'b', authorize: refuse })
      static b() {
        return 'b';
      }
      @inner.rpc({ name: 'c', authorize: refuse })
      c() {
        return 'c';
      }
    }
    void new Service();
    const outer = new Router();
    outer.merge(inner, 'x.');
    const own = outer.get('x.a');
    assert.ok(own !== undefined);
    outer.register('y', own);
    for (const method of ['x.a', 'x.b', 'x.c', 'y']) {
      const reply = await handleRequest({ method, id: 1 }, outer);
      assert.deepEqual(reply, {
        jsonrpc: '2.0',
        id: 1,
        error: { code: 4030, message: 'Not yours' },
      });
    }
  });
});
