import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ModuleFolder } from '../modules/module-folder.ts';
import { Running } from './running.ts';

/** A module with these procedures, as the options of each. */
function moduleOf(...options: readonly string[]): string {
  const calls = options.map((text) => `router.rpc(${text});`);
  return `import { Router, Type } from 'tandem-rpc';
    const router = new Router();
    ${calls.join('\n')}
    export default router;`;
}

function told({ lines }: Running): unknown[] {
  return lines
    .filter(({ fields }) => fields.event === 'returns-missing')
    .map(({ level, message, fields: { procedures } }) => [level, procedures, message]);
}

describe('the line that names procedures without returns', () => {
  const declared = [
    `{ name: 'declared', returns: Type.Null() }, () => null`,
    `{ name: 'ticks', yields: Type.Number() }, function* () { yield 1; }`,
  ];

  test('comes once, and again only if a reload has changed which', async (t) => {
    const folder = new ModuleFolder(t);
    const first = [`{ name: 'b.open' }, () => 1`, `{ name: 'a.feed' }, function* () { yield 1; }`];
    const write = (...options: readonly string[]) =>
      folder.write('module.mjs', moduleOf(...declared, ...options));
    const running = await Running.start(t, { modules: [write(...first)] });
    const two =
      '2 procedures have no `returns`: their results are neither projected nor checked: a.feed, b.open';
    assert.deepEqual(told(running), [['info', 2, two]]);
    write(...first, `{ name: 'more', returns: Type.Number() }, () => 1`);
    assert.equal(await running.dispatcher.reload(), true);
    assert.equal(told(running).length, 1);
    write(`{ name: 'b.open' }, () => 1`);
    assert.equal(await running.dispatcher.reload(), true);
    const one = '1 procedure has no `returns`: its result is neither projected nor checked: b.open';
    assert.deepEqual(told(running).slice(1), [['info', 1, one]]);
    write();
    assert.equal(await running.dispatcher.reload(), true);
    assert.equal(told(running).length, 2);
  });

  test('names five of many', async (t) => {
    const names = ['g', 'f', 'e', 'd', 'c', 'b', 'a'.repeat(100)];
    const text = moduleOf(...names.map((name) => `{ name: '${name}' }, () => 1`));
    const modules = [new ModuleFolder(t).write('module.mjs', text)];
    const running = await Running.start(t, { modules });
    const line = `7 procedures have no \`returns\`: their results are neither projected nor checked: ${'a'.repeat(60)}, b, c, d, e, ...`;
    assert.deepEqual(told(running), [['info', 7, line]]);
  });
});
