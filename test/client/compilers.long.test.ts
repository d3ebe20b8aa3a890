/** The client's types, and those of a generated file, in each version of TypeScript that is supported. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { generate, runsCommands } from '../codegen/command.ts';
import { root } from '../files.ts';

const bytes = { type: 'string', format: 'byte', contentEncoding: 'base64' };
const document = {
  openrpc: '1.4.1',
  methods: [
    {
      name: 'images.thumb',
      params: [{ name: 'image', required: true, schema: bytes }],
      result: { name: 'result', schema: bytes },
      'x-effects': { readOnly: true },
    },
    { name: 'images.drop', params: [], result: { name: 'result', schema: { type: 'null' } } },
  ],
};

/** What a page does with a generated file. */
const user = `import { type Client, createClient } from 'tandem-rpc/client';
import { type Contract, hints } from './api.ts';
const client: Client<Contract> = createClient<Contract>({ url: '', hints });
export async function show(image: Uint8Array): Promise<Blob> {
  return new Blob([await client.images.thumb({ image }), await client.call('images.thumb', [image])]);
}
type Reads = { [Name in keyof Contract & string]: Contract[Name] extends { effects: { readOnly: true } } ? Name : never };
'images.thumb' satisfies Reads[keyof Reads];
// @ts-expect-error it has no effects
'images.drop' satisfies Reads[keyof Reads];
`;

describe('generic calls, unread streams and a generated file type-check', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-compilers-'));
  runsCommands();
  before(async () => {
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2023', 'dom'],
      types: [],
      module: 'nodenext',
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noUnusedLocals: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
      skipLibCheck: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      paths: { 'tandem-rpc/client': [join(root, 'src/client/index.ts')] },
    };
    const files = ['user.ts', join(root, 'test/types/client-generic.test-d.ts')];
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'api.ts'), await generate(document));
    writeFileSync(join(folder, 'user.ts'), user);
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const compiler of ['typescript-5.6', 'typescript-5.9', 'typescript-6', 'typescript'])
    it(`with ${compiler}`, () => {
      const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
      const { stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', folder], {
        encoding: 'utf8',
      });
      assert.equal(stdout + stderr, '');
    });
});
