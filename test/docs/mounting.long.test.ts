/** Runs the recipes of docs/mounting.md, as they stand there. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { type Running, startNode } from '../cli/process.ts';
import { typeErrors } from '../codegen/compile.ts';
import { moduleUrl, root, temporaryFolder } from '../files.ts';
import { postJson } from '../post-json.ts';
import { fences, pathOf, read } from './pages.ts';

const page = fences(read('docs/mounting.md'));
/** The blocks that are whole files: their first line names the file. */
const files = page.flatMap(({ text }) => {
  const name = /^\/\/ ([\w-]+\.ts)\n/.exec(text)?.[1];
  return name === undefined ? [] : [{ name, text }];
});

/** The second form for Fastify, in place of the route of the recipe. */
const scope = page.at(-1)?.text ?? '';
const fastifyRecipe = files.find(({ name }) => name === 'on-fastify.ts')?.text ?? '';
const inScope = {
  name: 'in-a-scope.ts',
  text: fastifyRecipe.replace("web.all('/rpc', rpc.nodeHandler({ auth }));\n", scope),
};
assert.ok(inScope.text.includes(scope) && scope.includes('removeAllContentTypeParsers'));
files.push(inScope);

/** A project with the dependencies of this one, and with this package as its `tandem-rpc`. */
function project(): string {
  const folder = temporaryFolder({ after });
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'tandem-rpc'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== 'tandem-rpc') symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  const manifest = { name: 'tandem-rpc', type: 'module', exports: './index.js' };
  writeFileSync(join(modules, 'tandem-rpc/package.json'), JSON.stringify(manifest));
  const entry = `export * from ${JSON.stringify(moduleUrl('src/index.ts'))};\n`;
  writeFileSync(join(modules, 'tandem-rpc/index.js'), entry);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  return folder;
}

type Refusal = { readonly error?: { readonly code: number } };
type Send = (path: string, body: unknown, cookie?: string) => Promise<Response>;

const who = { jsonrpc: '2.0', id: 1, method: 'who' };

/** Starts a recipe, and asks who calls: its workers have started by then. */
async function started(
  t: TestContext,
  file: string,
): Promise<{ readonly server: Running; readonly send: Send; readonly refused: unknown }> {
  for (;;) {
    const server = startNode([file], {
      PORT: '0',
      SESSION_SECRET: 'a secret of thirty-two characters!',
    });
    t.after(() => server.child.kill('SIGKILL'));
    const [, port = ''] = await server.seen('stdout', /port: (\d+)/);
    const send: Send = (path, body, cookie = '') =>
      postJson(`http://127.0.0.1:${port}${path}`, body, { cookie, connection: 'close' });
    const ask = async (): Promise<Refusal> => (await (await send('/rpc', who)).json()) as Refusal;
    let refused = await ask();
    // Nor has a program another timeoutMs than the usual one, which ends a call that waits longer for the start.
    while (refused.error?.code === -32001) refused = await ask();
    if (refused.error?.code !== -32003) return { server, send, refused };
    // A program has the usual limit for the start of its workers, which a busy machine may exceed. Then another is started.
    await server.seen('stderr', /"event":"start-failed".*raise startTimeoutMs/);
  }
}

describe('the recipes of docs/mounting.md', () => {
  const folder = project();

  for (const name of ['on-express.ts', 'on-fastify.ts', 'in-a-scope.ts']) {
    it(`${name} answers who is signed in, by its session`, async (t) => {
      const { server, send, refused } = await started(t, join(folder, name));
      assert.deepEqual(refused, {
        jsonrpc: '2.0',
        id: 1,
        error: { code: 4010, message: 'Sign in' },
      });
      const signedIn = await send('/sign-in', { name: 'ann' });
      assert.equal(signedIn.status, 204);
      const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
      const answer = await (await send('/rpc', who, cookie)).json();
      assert.deepEqual(answer, { jsonrpc: '2.0', id: 1, result: { user: 'ann' } });
      server.child.kill('SIGTERM');
      assert.equal((await server.exit).code, 0);
    });
  }

  it('have the types of the frameworks', (t) => {
    assert.deepEqual(
      files.map(({ name }) => name),
      ['procedures.ts', 'on-express.ts', 'on-fastify.ts', 'in-a-scope.ts'],
    );
    const typed = temporaryFolder(t);
    for (const { name, text } of files) writeFileSync(join(typed, name), text);
    const paths = { 'tandem-rpc': [pathOf('src/index.ts')] };
    const names = files.map(({ name }) => name);
    assert.equal(
      typeErrors(typed, names, { types: ['node'], lib: ['es2023', 'es2024.string'], paths }),
      '',
    );
  });
});
