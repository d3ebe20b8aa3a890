import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Effects, Router } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { fixture, Running } from './running.ts';

describe('a call that is lost', () => {
  test('may be sent again where its procedure says that this does no harm', async (t) => {
    for (const [effects, data] of [
      [undefined, { reason: 'shutdown' }],
      [{ openWorld: true }, { reason: 'shutdown' }],
      [{ readOnly: true }, { reason: 'shutdown', retry: true }],
      [{ idempotent: true }, { reason: 'shutdown', retry: true }],
    ] as readonly (readonly [Effects | undefined, object])[]) {
      const router = new Router();
      router.rpc({ name: 'waits', effects }, () => new Promise(() => {}));
      const { dispatcher } = await TestService.start(t, { router });
      const reply = dispatcher.dispatch({ method: 'waits', id: 1 });
      await dispatcher.close(0);
      assert.deepEqual(await reply, {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32002, message: 'Worker lost', data },
      });
    }
  });

  test('in a worker as well', async (t) => {
    const running = await Running.start(t, { modules: [fixture('effects.ts')] });
    const reply = running.ask({ method: 'waits', params: { file: running.journal.file }, id: 1 });
    await running.begunOn('waits');
    await running.dispatcher.close(0);
    assert.match(String(await reply), /"code":-32002.*"data":\{"reason":"shutdown","retry":true\}/);
  });
});

describe('overlapReads', () => {
  /** `read` ends when two of it run at once, or when `write` has begun. */
  function rig(t: { after(end: () => Promise<void>): void }, overlapReads: boolean) {
    const journal: string[] = [];
    const router = new Router();
    const step = async (name: string): Promise<string> => {
      journal.push(`${name} begins`);
      await new Promise(setImmediate);
      journal.push(`${name} ends`);
      return name;
    };
    router.rpc({ name: 'read', effects: { readOnly: true } }, ({ n }) =>
      step(`read ${n as number}`),
    );
    router.rpc({ name: 'write' }, ({ n }) => step(`write ${n as number}`));
    const { dispatcher } = TestService.make(t, { router, overlapReads });
    return { dispatcher, journal };
  }

  const batch = ['read', 'read', 'write', 'read', 'read', 'read', 'write'].map((method, n) => ({
    method,
    params: { n },
    id: n,
  }));

  test('lets neighbours that change nothing run together, between the others', async (t) => {
    const { dispatcher, journal } = rig(t, true);
    const replies = (await dispatcher.dispatch(batch)) as { id: number; result: string }[];
    assert.deepEqual(
      replies.map(({ result }) => result),
      batch.map(({ method, params }) => `${method} ${params.n}`),
    );
    const both = (name: string, numbers: readonly number[]): string[] =>
      ['begins', 'ends'].flatMap((verb) => numbers.map((n) => `${name} ${n} ${verb}`));
    assert.deepEqual(journal, [
      ...both('read', [0, 1]),
      ...both('write', [2]),
      ...both('read', [3, 4, 5]),
      ...both('write', [6]),
    ]);
  });
});
