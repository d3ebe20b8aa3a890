import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestService } from '../harness.ts';
import { ModuleFolder } from './module-folder.ts';

/** Ends the thread of the hooks as soon as something is imported. */
const hooks = 'export function resolve() { process.exit(3); }';

for (const form of ['mjs', 'ts']) {
  test(`hooks of a user's module.${form} that end their own thread do no harm to others`, async (t) => {
    const folder = new ModuleFolder(t);
    const module = folder.write(
      `module.${form}`,
      `import { register } from 'node:module';
       import { Router } from 'tandem-rpc';
       const router = new Router();
       router.rpc({ name: 'end', placement: 'worker', timeoutMs: 500 }, () => {
         register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}));
         return import('./other.mjs');
       });
       router.rpc({ name: 'give', placement: 'worker' }, () => 1);
       export default router;`,
    );
    const service = await TestService.start(t, { modules: [module] });
    const ask = async (method: string): Promise<unknown> => {
      const text = await service.ask({ jsonrpc: '2.0', id: 1, method });
      const { result, error } = JSON.parse(text ?? '');
      return error?.code ?? result;
    };
    for (let i = 0; i < 3; i++) {
      // Its import never ends, or its worker does, or (since Node 24) the import fails by process.exit().
      assert.match(String(await ask('end')), /^-(?:3200[12]|32603)$/);
      assert.equal(await ask('give'), 1);
    }
  });
}
