/** The installed package bundles TypeBox, and has the formats, custom types and settings of its user's TypeBox. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { installPacked } from '../cli/packed.ts';
import { userEnvironment } from '../compiled.ts';
import { root, temporaryFolder } from '../files.ts';
import { patience } from '../patience.ts';

/** A module of procedures whose schemas need what it registers with its own TypeBox. */
const body = `
FormatRegistry.Set('even', (text) => text.length % 2 === 0);
TypeRegistry.Set('Odd', (_schema, value) => typeof value === 'number' && value % 2 === 1);
TypeSystemPolicy.AllowNullVoid = true;
const router = new Router();
const params = Type.Object({
  text: Type.String({ format: 'even' }),
  number: Type.Unsafe({ [Kind]: 'Odd' }),
  mail: Type.Optional(Type.String({ format: 'email' })),
  nothing: Type.Optional(Type.Void()),
});
router.rpc({ name: 'inline', params, placement: 'inline' }, ({ text }) => text);
router.rpc({ name: 'pooled', params, placement: 'worker' }, ({ text }) => text);
router.rpc({ name: 'shares' }, () => FormatRegistry.Has('email'));`;
const names = ['FormatRegistry', 'Kind', 'Type', 'TypeRegistry'].join(', ');
const esm = `import { ${names} } from '@sinclair/typebox';
import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { Router } from 'tandem-rpc';
${body}
export default router;`;
const commonJs = `const { ${names} } = require('@sinclair/typebox');
const { TypeSystemPolicy } = require('@sinclair/typebox/system');
const { handleRequest, Router } = require('tandem-rpc');
${body}`;

const requests = [
  { text: 'ab', number: 1, mail: 'a@example.org', nothing: null },
  { text: 'abc', number: 1 },
  { text: 'ab', number: 2 },
  { text: 'ab', number: 1, mail: 'nobody' },
].map((params) => ({ params }));
const ask = `
const show = ({ result, error }) => result ?? error.data.map(({ path }) => path).join();
const answers = [];
for (const method of methods) {
  for (const request of ${JSON.stringify(requests)}) {
    answers.push(show(await call({ jsonrpc: '2.0', id: 1, method, ...request })));
  }
}
answers.push(show(await call({ jsonrpc: '2.0', id: 1, method: 'shares' })));
console.log(JSON.stringify(answers));`;
const expected = ['ab', '/text', '/number', '/mail'];

const programs: Readonly<Record<string, { readonly file: string; readonly text: string }>> = {
  'a program with a router': {
    file: 'main.mjs',
    text: `import { handleRequest } from 'tandem-rpc';
      const { default: router } = await import('./procedures.mjs');
      const methods = ['inline', 'inline'];
      const call = (request) => handleRequest(request, router);
      ${ask}`,
  },
  'modules, loaded in the main thread and in workers': {
    file: 'main.mjs',
    text: `import { Dispatcher } from 'tandem-rpc';
      const options = ${JSON.stringify(patience)};
      const dispatcher = new Dispatcher({ modules: ['./procedures.mjs'], workers: 1, ...options });
      const methods = ['inline', 'pooled'];
      const call = (request) => dispatcher.dispatch(request);
      ${ask}
      await dispatcher.close();`,
  },
  'CommonJS that tsx compiles, as TypeScript without "type": "module" is': {
    file: 'main.ts',
    text: `${commonJs}
      const methods = ['inline', 'inline'];
      const call = (request) => handleRequest(request, router);
      (async () => { ${ask} })();`,
  },
};

for (const version of ['@sinclair/typebox', 'typebox-earlier']) {
  const manifest = readFileSync(join(root, 'node_modules', version, 'package.json'), 'utf8');
  const { version: number } = JSON.parse(manifest) as { version: string };
  describe(`the user's TypeBox ${number} is ours`, () => {
    const folder = temporaryFolder({ after });
    before(async () => {
      await installPacked(folder);
      const scope = join(folder, 'node_modules/@sinclair');
      unlinkSync(scope);
      mkdirSync(scope);
      symlinkSync(join(root, 'node_modules', version), join(scope, 'typebox'));
      writeFileSync(join(folder, 'package.json'), '{}');
      writeFileSync(join(folder, 'procedures.mjs'), esm);
    });

    for (const [name, { file, text }] of Object.entries(programs)) {
      it(name, async () => {
        writeFileSync(join(folder, file), text);
        const tsx = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;
        const flags = file.endsWith('.ts') ? ['--import', tsx] : [];
        const { stdout } = await promisify(execFile)(process.execPath, [...flags, file], {
          cwd: folder,
          env: { ...userEnvironment(), TANDEM_LOG_LEVEL: 'error' },
        });
        const answers = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
        assert.deepEqual(answers, [...expected, ...expected, true]);
      });
    }
  });
}
