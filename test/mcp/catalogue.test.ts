import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tableOf } from '../../src/core/procedures/router.ts';
import { Catalogue } from '../../src/extras/mcp/catalogue.ts';
import { Router } from '../../src/index.ts';

describe('a catalogue', () => {
  test('of thousands of tools takes many turns of the event loop', async () => {
    const router = new Router();
    const count = 5000;
    // All names are marked with a hash.
    for (let n = 0; n < count; n++) router.rpc({ name: `${'x'.repeat(60)}.p${n}` }, () => n);
    let turns = 0;
    let isOver = false;
    const tick = (): void => {
      turns++;
      if (!isOver) setImmediate(tick);
    };
    setImmediate(tick);
    const catalogue = await Catalogue.of(tableOf(router), ['x*']);
    isOver = true;
    assert.equal(catalogue.size, count);
    // They are chosen, named in two passes, and put together: 250 of them a turn.
    assert.ok(turns >= 4 * (count / 250) - 5, `${turns} turns`);
    const last = `${'x'.repeat(60)}.p${count - 1}`;
    assert.equal(catalogue.find(last)?.procedure.name, last);
  });
});
