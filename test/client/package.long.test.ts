import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { installPacked } from '../cli/packed.ts';
import { root, temporaryFolder } from '../files.ts';

function run(args: readonly string[], cwd: string): string {
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  return stdout + stderr;
}

const tsc = join(root, 'node_modules/typescript/bin/tsc');

/** The TypeScript of docs/client.md, in its order, without the indent of those in a list. */
function examples(): string[] {
  const page = readFileSync(join(root, 'docs/client.md'), 'utf8');
  return [...page.matchAll(/^( *)```ts\n(.*?)^ *```$/gms)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

describe('the package, as a project installs it', () => {
  const project = temporaryFolder({ after });
  before(async () => {
    await installPacked(project);
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  });

  it('compiles the examples of docs/client.md, with declarations', () => {
    const [first, contract, server, client, calls, generic, tanstack, ...more] = examples();
    assert.ok(tanstack !== undefined && more.length === 0, 'the blocks of the page');
    const files = {
      'api.ts': contract,
      'server.ts': server,
      'client.ts': client,
      'generic.ts': generic,
      'tanstack.ts': `${tanstack}\nexport { queries };`,
      'page.ts': [first, `{ ${calls} }`].join('\n'),
      'declared.ts': `import { procedure, Router, Type } from 'tandem-rpc';
        const data = Type.Object({ id: Type.String() });
        const get = procedure(
          { params: data, errors: { NotFound: { code: 404, message: 'No such user', data } } },
          ({ id }, { errors }) => { throw errors.NotFound({ id }); },
        );
        const ticks = procedure({ yields: Type.Number() }, function* () { yield 1; });
        export const users = Router.from({ users: { get }, ticks });
        export const add = users.rpc({ name: 'add' }, () => 1);`,
      'use.ts': `import { createClient, type ContractOf, settle } from 'tandem-rpc/client';
        import type { users } from './declared.ts';
        export const client = createClient<ContractOf<typeof users>>({ url: '' });
        export const get = () => client.users.get({ id: 'x' });
        export const settled = () => settle(get());
        export const ticks = () => client.ticks();
        export const batch = () => client.batch([['users.get', { id: 'x' }]]);`,
    };
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(project, name), text ?? '');
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2023'],
      types: ['node'],
      module: 'nodenext',
      declaration: true,
      outDir: 'out',
      strict: true,
      skipLibCheck: true,
      rewriteRelativeImportExtensions: true,
    };
    const config = JSON.stringify({ compilerOptions, files: Object.keys(files) });
    writeFileSync(join(project, 'tsconfig.json'), config);
    assert.equal(run([tsc, '-p', project], project), '');
  });

  it('has transports of its own, which share the classes of the client', () => {
    const script = `
      import { createClient, RpcError, RpcTransportError } from 'tandem-rpc/client';
      import { webSocket } from 'tandem-rpc/client/socket';
      import { sse } from 'tandem-rpc/client/sse';
      const answers = [
        ({ id }) => ({ id, error: { code: 5, message: 'five' } }),
        () => ({ params: { result: 1 } }),
      ];
      const fetch = async (url, { body }) =>
        new Response('data: ' + JSON.stringify(answers.shift()(JSON.parse(body))) + '\\n\\n', {
          headers: { 'content-type': 'text/event-stream' },
        });
      const client = createClient({ url: 'http://x', fetch, streams: sse() });
      const failed = async (call) => {
        try { for await (const value of call) console.log(value); } catch (error) { return error; }
      };
      console.log((await failed(client.call('a'))) instanceof RpcError);
      console.log((await failed(client.call('a'))) instanceof RpcTransportError);
      const transport = webSocket({ WebSocket: class {} });
      transport.close();
      const closed = createClient({ url: 'http://x', transport });
      console.log((await failed(closed.call('a'))) instanceof RpcTransportError);`;
    writeFileSync(join(project, 'streams.js'), script);
    assert.equal(run(['streams.js'], project), 'true\n1\ntrue\ntrue\n');
  });

  it('has one class of errors, for callers in the same process too', () => {
    const script = `
      import { createCaller, procedure, Router, RpcError } from 'tandem-rpc';
      import { hasCode, settle } from 'tandem-rpc/client';
      const refuse = procedure({}, () => { throw new RpcError(404, 'Not found'); });
      const { error } = await settle(createCaller(Router.from({ refuse })).refuse());
      console.log(hasCode(error, 404));`;
    writeFileSync(join(project, 'caller.js'), script);
    assert.equal(run(['caller.js'], project), 'true\n');
  });
});
