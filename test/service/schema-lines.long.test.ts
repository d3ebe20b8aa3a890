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

function told({ lines }: Running, event: string, count: string): unknown[] {
  return lines
    .filter(({ fields }) => fields.event === event)
    .map(({ level, message, fields }) => [level, fields[count], message]);
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
    assert.deepEqual(told(running, 'returns-missing', 'procedures'), [['info', 2, two]]);
    write(...first, `{ name: 'more', returns: Type.Number() }, () => 1`);
    assert.equal(await running.dispatcher.reload(), true);
    assert.equal(told(running, 'returns-missing', 'procedures').length, 1);
    write(`{ name: 'b.open' }, () => 1`);
    assert.equal(await running.dispatcher.reload(), true);
    const one = '1 procedure has no `returns`: its result is neither projected nor checked: b.open';
    assert.deepEqual(told(running, 'returns-missing', 'procedures').slice(1), [['info', 1, one]]);
    write();
    assert.equal(await running.dispatcher.reload(), true);
    assert.equal(told(running, 'returns-missing', 'procedures').length, 2);
  });

  test('names five of many', async (t) => {
    const names = ['g', 'f', 'e', 'd', 'c', 'b', 'a'.repeat(100)];
    const text = moduleOf(...names.map((name) => `{ name: '${name}' }, () => 1`));
    const modules = [new ModuleFolder(t).write('module.mjs', text)];
    const running = await Running.start(t, { modules });
    const line = `7 procedures have no \`returns\`: their results are neither projected nor checked: ${'a'.repeat(60)}, b, c, d, e, ...`;
    assert.deepEqual(told(running, 'returns-missing', 'procedures'), [['info', 7, line]]);
  });
});

test('strings that their patterns limit are named in one line, and again if a reload has changed them', async (t) => {
  const folder = new ModuleFolder(t);
  const write = (...patterns: readonly string[]) => {
    const calls = patterns.map((pattern, at) => {
      const list = `Type.Array(Type.String({ pattern: ${JSON.stringify(pattern)} }))`;
      return `{ name: 'p${at}', params: Type.Object({ list: ${list} }), returns: Type.Null(), placement: 'worker' }, () => null`;
    });
    return folder.write('module.mjs', moduleOf(...calls));
  };
  const running = await Running.start(t, { modules: [write('^a+$', 'foo.*bar', '\\s+$')] });
  const two =
    '2 strings have no maxLength and patterns that take more than linear time, so they got one: p1 params/list/* (117), p2 params/list/* (127)';
  assert.deepEqual(told(running, 'pattern-limits', 'strings'), [['info', 2, two]]);
  write('^b+$', 'foo.*bar', '\\s+$');
  assert.equal(await running.dispatcher.reload(), true);
  assert.equal(told(running, 'pattern-limits', 'strings').length, 1);
  write('x*y');
  assert.equal(await running.dispatcher.reload(), true);
  const one =
    '1 string has no maxLength and a pattern that takes more than linear time, so it got one: p0 params/list/* (127)';
  assert.deepEqual(told(running, 'pattern-limits', 'strings').slice(1), [['info', 1, one]]);
});
