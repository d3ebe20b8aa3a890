/** What an editor shows at a call of the client, and where it goes from there. */
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { generate, runsCommands } from '../codegen/command.ts';
import { compilers } from '../compilers.ts';
import { root } from '../files.ts';
import { languageServer } from './language-server.ts';

const users = `import { procedure, Router, Type } from 'tandem-rpc';
export const get = procedure(
  {
    params: Type.Object({ id: Type.String(), deep: Type.Optional(Type.Boolean()) }),
    returns: Type.Object({ name: Type.String() }),
    errors: { Gone: { code: 410, message: 'Gone' } },
  },
  ({ id }) => ({ name: id }),
);
export interface User { id: string; friends: User[] }
export const list = procedure({}, async () => ({ users: [] as User[], at: new Date() }));
export const admin = Router.from({ purge: procedure({ returns: Type.Void() }, () => {}) });
`;
const router = `import { procedure, Router, Type } from 'tandem-rpc';
import * as users from './users.ts';
export const router = Router.from({
  users,
  math: {
    add: procedure({ params: Type.Object({ a: Type.Number() }), returns: Type.Number() }, ({ a }) => a),
    count: procedure({ yields: Type.Number() }, function* () { yield 1; }),
  },
});
`;
const user = `import { type ContractOf, createClient } from 'tandem-rpc/client';
import type { Contract } from './generated.ts';
import type { router } from './router.ts';
const inferred = createClient<ContractOf<typeof router>>({ url: '' });
void inferred.users.get({ id: 'x' });
void inferred.users.list();
void inferred.users.admin.purge();
void inferred.math.add({ a: 1 });
inferred.math.count();
const generated = createClient<Contract>({ url: '' });
void generated.math.add({ a: 1 });
void generated.ping();
generated.math.count({ to: 1 });
`;
const document = {
  openrpc: '1.4.1',
  methods: [
    {
      name: 'math.add',
      description: 'Adds a number to nothing.',
      params: [{ name: 'a', required: true, schema: { type: 'number' } }],
      result: { name: 'result', schema: { type: 'number' } },
      'x-errors': { Gone: { code: 410, message: 'Gone' } },
    },
    { name: 'ping', params: [], result: { name: 'result', schema: { type: 'string' } } },
    {
      name: 'math.count',
      description: 'Counts.',
      params: [{ name: 'to', required: true, schema: { type: 'number' } }],
      result: { name: 'result', schema: { type: 'null' } },
      'x-stream': { yields: { type: 'number' } },
    },
  ],
};

const editors = compilers.filter(({ version }) => /^(?:5\.9|7)\./.test(version));

for (const compiler of editors) {
  describe(`an editor with TypeScript ${compiler.version}`, () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tandem-editor-')));
    const server = languageServer(compiler);
    const file = join(folder, 'user.ts');
    runsCommands();
    before(async () => {
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
      const compilerOptions = {
        target: 'es2022',
        lib: ['es2023', 'es2024.string', 'dom'],
        types: ['node'],
        module: 'nodenext',
        moduleDetection: 'force',
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: true,
        noEmit: true,
        allowImportingTsExtensions: true,
        paths: {
          'tandem-rpc': [join(root, 'src/index.ts')],
          'tandem-rpc/client': [join(root, 'src/client/index.ts')],
        },
      };
      const files = {
        'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
        'package.json': '{"type":"module"}',
        'users.ts': users,
        'router.ts': router,
        'generated.ts': await generate(document),
        'user.ts': user,
      };
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
      await server.start(folder);
    });
    after(() => {
      server.stop();
      rmSync(folder, { recursive: true });
    });

    for (const [place, signature, definition] of [
      [
        'inferred.users.get',
        '(params: { id: string; deep?: boolean; }, options?: CallOptions) => Call<{ name: string; }',
        { file: 'users.ts', line: 'export const get = procedure(' },
      ],
      // Without returns: what JSON makes of it, and the names of what JSON leaves as it is.
      [
        'inferred.users.list',
        '=> Call<{ users: User[]; at: string; }',
        {
          file: 'users.ts',
          line: 'export const list = procedure({}, async () => ({ users: [] as User[], at: new Date() }));',
        },
      ],
      [
        'inferred.users.admin.purge',
        '=> Call<null',
        {
          file: 'users.ts',
          line: 'export const admin = Router.from({ purge: procedure({ returns: Type.Void() }, () => {}) });',
        },
      ],
      [
        'inferred.math.add',
        '(params: { a: number; }, options?: CallOptions) => Call<number',
        {
          file: 'router.ts',
          line: 'add: procedure({ params: Type.Object({ a: Type.Number() }), returns: Type.Number() }, ({ a }) => a),',
        },
      ],
      [
        'generated.math.add',
        '(params: { a: number; }, options?: CallOptions) => Call<number, { Gone: { code: 410; }; }>',
        { file: 'generated.ts', line: "readonly add: Method<Contract['math.add']>;" },
      ],
      [
        'generated.ping',
        'options?: CallOptions) => Call<string, never>',
        { file: 'generated.ts', line: "readonly ping: Method<Contract['ping']>;" },
      ],
      // Neither client can read streams: they say so.
      [
        'inferred.math.count',
        '=> UnreadStream<"add streams: sse() to the options of createClient", number,',
        {
          file: 'router.ts',
          line: 'count: procedure({ yields: Type.Number() }, function* () { yield 1; }),',
        },
      ],
      [
        'generated.math.count',
        'UnreadStream<"add streams: sse() to the options of createClient", number, null>',
        { file: 'generated.ts', line: "readonly count: Method<Contract['math.count']>;" },
      ],
    ] as const) {
      it(`shows the params and the result of ${place}, and goes to the procedure`, async () => {
        const seen = await server.see(file, place);
        assert.ok(seen.hover.includes(signature), seen.hover);
        assert.deepEqual(seen.definition, definition);
      });
    }

    it("shows a generated procedure's doc comment", async () => {
      const { hover } = await server.see(file, 'generated.math.add');
      assert.match(hover, /Adds a number to nothing\.$/);
    });
  });
}
