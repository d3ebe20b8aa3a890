import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallEvent } from '../../src/index.ts';
import { fixture, Running } from './running.ts';

/** docs/procedures.md, "Middleware", through a service: the same inline and in a worker. */

describe('middleware', () => {
  const events: CallEvent[] = [];
  const running = Running.suite({
    modules: [fixture('middleware.ts')],
    onCall: (event) => events.push(event),
  });
  const ask = async (
    place: string,
    user?: string,
    name = 'greet',
  ): Promise<Record<string, unknown>> => {
    const auth = user === undefined ? undefined : { user };
    const text = await running.ask({ method: `${place}.${name}`, id: 1 }, { auth });
    return JSON.parse(text ?? '') as Record<string, unknown>;
  };

  for (const place of ['inline', 'worker']) {
    test(`refuses, adds and answers ${place}`, async () => {
      assert.deepEqual((await ask(place)).error, { code: 401, message: 'Sign in' });
      assert.equal((await ask(place, 'ann')).result, `Hello ann ann ${place}.greet true`);
      assert.equal((await ask(place, 'cached')).result, 'from a middleware');
    });

    test(`that never settles ends with the deadline ${place}, and holds nobody up`, async () => {
      const hangs = ask(place, 'hangs', 'hang');
      assert.equal((await ask(place, 'ann')).result, `Hello ann ann ${place}.greet true`);
      assert.equal(((await hangs).error as { code: number }).code, -32001);
    });
  }

  for (const link of ['use', 'authorize']) {
    test(`with an asynchronous ${link}, a synchronous handler counts as run time`, async () => {
      events.length = 0;
      assert.equal((await ask('worker', 'ann', `spin.${link}`)).result, 1);
      assert.ok((events[0]?.runMs ?? 0) >= 2);
    });
  }
});
