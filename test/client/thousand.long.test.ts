import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { root, temporaryFolder } from '../files.ts';

const tsc = join(root, 'node_modules/typescript/bin/tsc');

/**
 * How many types the compiler may make for the thousand procedures. It made 335,000 when this was written. The time that it
 * takes depends on the machine, the count does not.
 */
const maxTypes = 400_000;
/** Two million instantiations are about three seconds of a core. Handlers of one call or of many (`batch`) cost 150 a procedure. */
const maxInstantiations = 2_300_000;

/** Compiles files in a folder of their own; the compiler's complaints, '' where it has none. */
function compile(t: TestContext, files: Readonly<Record<string, string>>, lib: string[]): string {
  const folder = temporaryFolder(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const compilerOptions = {
    target: 'es2022',
    lib,
    types: lib.includes('dom') ? [] : ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    module: 'nodenext',
    moduleDetection: 'force',
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
  };
  const config = { compilerOptions, files: Object.keys(files) };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const began = performance.now();
  // With one thread the counts are the same on every machine.
  const args = [tsc, '-p', folder, '--extendedDiagnostics', '--singleThreaded'];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  t.diagnostic(`tsc took ${Math.round(performance.now() - began)} ms`);
  const types = Number(/^Types: +(\d+)$/m.exec(stdout)?.[1]);
  t.diagnostic(`${types} types`);
  const instantiations = Number(/^Instantiations: +(\d+)$/m.exec(stdout)?.[1]);
  t.diagnostic(`${instantiations} instantiations`);
  assert.ok(types <= maxTypes, `${types} types`);
  assert.ok(instantiations <= maxInstantiations, `${instantiations} instantiations`);
  return stdout.slice(0, stdout.search(/^Files: /m));
}

const source = (path: string): string => JSON.stringify(join(root, 'src', path));
const names = Array.from({ length: 1000 }, (_, i) => [`space${i % 40}`, `procedure${i}`] as const);

const calls = names.map(
  ([space, name], i) =>
    `void (client.${space}.${name}({ a: ${i} }) satisfies Promise<{ sum: number; b${i}?: string }>);`,
);

describe('a thousand procedures', () => {
  const forms = {
    procedure: '',
    'procedure of a router with an environment and a middleware': `
      const app = new Router<{ auth: { id: string }; state: { rows: number } }>();
      const { procedure } = app.use(({ auth }, next) => next({ user: auth.id }));`,
  };
  for (const [form, head] of Object.entries(forms))
    it(`type-check in one router and its client, made by ${form}`, (t) => {
      const spaces = new Map<string, string[]>();
      for (const [i, [space, name]] of names.entries()) {
        const text = `${name}: procedure({
        params: Type.Object({ a: Type.Number(), b: Type.Optional(Type.Array(Type.String())) }),
        returns: Type.Object({ sum: Type.Number(), b${i}: Type.Optional(Type.String()) }),
        errors: { NotFound: { code: ${i}, message: 'x', data: Type.Object({ id: Type.String() }) } },
      }, ({ a }) => ({ sum: a })),`;
        spaces.set(space, [...(spaces.get(space) ?? []), text]);
      }
      const tree = [...spaces].map(([space, texts]) => `${space}: {\n${texts.join('\n')}\n},`);
      const api = `
      import { Type } from ${JSON.stringify(join(root, 'node_modules/@sinclair/typebox/build/esm/index.mjs'))};
      ${head === '' ? `import { procedure } from ${source('core/procedures/procedure.ts')};` : ''}
      import { Router } from ${source('core/procedures/router.ts')};
      ${head}
      export const router = Router.from({ ${tree.join('\n')} });`;
      const user = `
      import { type ContractOf, createClient, hasCode, settle } from ${source('client/index.ts')};
      import type { router } from './api.ts';
      const client = createClient<ContractOf<typeof router>>({ url: '' });
      ${calls.join('\n')}
      const [first, last] = await client.batch([
        ['space0.procedure0', { a: 1 }], ['space39.procedure999', { a: 1 }],
      ]);
      if (last.ok) last.result.b999?.length;
      if (!first.ok && hasCode(first.error, 0)) first.error.data.id.length;
      const { error } = { error: undefined, ...await settle(client.call('space1.procedure1', [1])) };
      void error;
      // @ts-expect-error no such procedure
      void client.space0.procedure1;
      // @ts-expect-error a is a number
      void client.space0.procedure0({ a: '1' });`;
      assert.equal(compile(t, { 'api.ts': api, 'user.ts': user }, ['es2023']), '');
    });

  it('type-check as a generated contract', (t) => {
    const entries = names.map(
      ([space, name], i) => `
      /** Does ${name}. */
      '${space}.${name}': {
        params: { a: number; b?: string[] };
        result: { sum: number; b${i}?: string };
        errors: { NotFound: { code: ${i}; data: { id: string } } };
      };`,
    );
    const user = `
      import { createClient } from ${source('client/index.ts')};
      interface Contract { ${entries.join('')} }
      const client = createClient<Contract>({ url: '' });
      ${calls.join('\n')}`;
    assert.equal(compile(t, { 'user.ts': user }, ['es2023', 'dom']), '');
  });
});
