import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Effects, getProcedureSchema, procedure, Router } from '../../src/index.ts';

import { discover } from './document/discover.ts';
import { isRefused } from './run.ts';

const serving = (effects?: Effects): Router => {
  const router = new Router();
  router.rpc({ name: 'p', effects }, () => 1);
  return router;
};

describe('effects', () => {
  test('are in both documents, if some are declared', async () => {
    const router = serving({ idempotent: true, readOnly: false });
    const effects = { readOnly: false, idempotent: true };
    assert.deepEqual(getProcedureSchema(router.get('p')!).effects, effects);
    assert.deepEqual((await discover(router)).methods[0]?.['x-effects'], effects);
    for (const none of [undefined, {}]) {
      const silent = serving(none);
      assert.ok(!('effects' in getProcedureSchema(silent.get('p')!)));
    }
  });

  test('that make no sense are refused at registration', () => {
    for (const [effects, message] of [
      [
        { readonly: true },
        /unknown option "effects\.readonly"; did you mean readOnly\? Known: readOnly, idempotent, /,
      ],
      [{ readOnly: 1 }, /option effects\.readOnly must be true or false, got 1$/],
      [{ readOnly: true, destructive: true }, /can't be readOnly and destructive/],
      ['readOnly', /option effects must be an object/],
      [JSON.parse('{"__proto__":true}'), /unknown option "effects\.__proto__"/],
    ] as const) {
      isRefused(() => procedure({ name: 'p', effects: effects as Effects }, () => 1), message);
    }
  });
});
