import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModuleFolder } from '../modules/module-folder.ts';
import { Running } from './running.ts';

function moduleOf(...patterns: readonly string[]): string {
  const calls = patterns.map((pattern, at) => {
    const text = `Type.String({ pattern: ${JSON.stringify(pattern)} })`;
    const schemas = `params: Type.Object({ list: Type.Array(${text}) }), returns: Type.Null()`;
    return `router.rpc({ name: 'p${at}', ${schemas}, placement: 'worker' }, () => null);`;
  });
  return `import { Router, Type } from 'tandem-rpc';
    const router = new Router();
    ${calls.join('\n')}
    export default router;`;
}

function told({ lines }: Running): unknown[] {
  return lines
    .filter(({ fields }) => fields.event === 'pattern-limits')
    .map(({ level, message, fields: { strings } }) => [level, strings, message]);
}

test('strings that their patterns limit are named in one line, and again if a reload has changed them', async (t) => {
  const folder = new ModuleFolder(t);
  const write = (...patterns: readonly string[]) =>
    folder.write('module.mjs', moduleOf(...patterns));
  const running = await Running.start(t, { modules: [write('^a+$', 'foo.*bar', '\\s+$')] });
  const two =
    '2 strings have no maxLength and patterns that take more than linear time, so they got one: p1 params/list/* (117), p2 params/list/* (127)';
  assert.deepEqual(told(running), [['info', 2, two]]);
  write('^b+$', 'foo.*bar', '\\s+$');
  assert.equal(await running.dispatcher.reload(), true);
  assert.equal(told(running).length, 1);
  write('x*y');
  assert.equal(await running.dispatcher.reload(), true);
  const one =
    '1 string has no maxLength and a pattern that takes more than linear time, so it got one: p0 params/list/* (127)';
  assert.deepEqual(told(running).slice(1), [['info', 1, one]]);
});
