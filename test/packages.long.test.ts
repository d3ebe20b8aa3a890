/** Both packages as npm packs them, each in an empty folder. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { Router, RpcApp } from '../src/index.ts';
import { installPacked, installPackedClient } from './cli/packed.ts';
import { userEnvironment } from './compiled.ts';
import { root } from './files.ts';
import { Issuer } from './jwt/issuer.ts';

async function run(cwd: string, args: readonly string[]): Promise<string> {
  const options = { cwd, env: userEnvironment() };
  const { stdout } = await promisify(execFile)(process.execPath, [...args], options);
  return stdout;
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-packages-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
}

/** Calls, reads a stream both ways, and catches an error by its class. */
const program = (client: string): string => `
  import { createClient, RpcError } from '${client}';
  import { webSocket } from '${client}/socket';
  import { sse } from '${client}/sse';
  const [url] = process.argv.slice(2);
  const seen = [];
  const client = createClient({ url, streams: sse() });
  seen.push(await client.add({ a: 1, b: 2 }));
  for await (const value of client.count({ to: 2 })) seen.push(value);
  await client.none().catch((error) => seen.push(error instanceof RpcError && error.code));
  if (globalThis.WebSocket) {
    const socket = createClient({ url: url.replace('http', 'ws'), transport: webSocket() });
    seen.push(await socket.add({ a: 2, b: 2 }));
  } else seen.push(4);
  console.log(JSON.stringify(seen));
  process.exit();`;

async function serve(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const router = new Router();
  router.rpc({ name: 'add', placement: 'inline' }, ({ a, b }) => Number(a) + Number(b));
  router.rpc({ name: 'count', placement: 'inline' }, async function* ({ to }) {
    for (let i = 1; i <= Number(to); i++) yield i * 10;
  });
  const app = new RpcApp({ router, port: 0, logLevel: 'silent' });
  const { url } = await app.listen();
  return { url, close: () => app.close() };
}

describe('the packages, packed', () => {
  let server: Awaited<ReturnType<typeof serve>>;
  before(async () => {
    server = await serve();
  });
  after(() => server.close());

  test('the client alone: it calls, it needs nothing else, and a page loads less than 3.375 KB of it', async () => {
    const folder = emptyFolder();
    const own = await installPackedClient(folder);
    assert.deepEqual(readdirSync(join(folder, 'node_modules')), ['tandem-rpc-client']);
    const manifest = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
    assert.equal(manifest.dependencies, undefined);
    // Only for tandem-rpc-client/tanstack.
    assert.deepEqual(manifest.peerDependenciesMeta, { '@tanstack/query-core': { optional: true } });
    assert.deepEqual(readdirSync(own).sort(), [
      'LICENSE',
      'README.md',
      'dist',
      'package.json',
      'src',
    ]);
    writeFileSync(join(folder, 'main.js'), program('tandem-rpc-client'));
    assert.equal(await run(folder, ['main.js', server.url]), '[3,10,20,-32601,4]\n');

    const { outputFiles } = await build({
      stdin: { contents: `export { createClient } from './dist/index.js'`, resolveDir: own },
      bundle: true,
      minify: true,
      format: 'esm',
      write: false,
    });
    const kilobytes = gzipSync(outputFiles[0]?.contents ?? '').length / 1024;
    assert.ok(kilobytes < 3.375, `${kilobytes} KB`);
  });

  test('without the client of NATS all goes as before, and --nats is one line that says what to install', async () => {
    const folder = emptyFolder();
    const main = await installPacked(folder);
    rmSync(join(folder, 'node_modules/@nats-io'));
    writeFileSync(
      join(folder, 'shop.js'),
      `import { Router } from 'tandem-rpc';
       const router = new Router();
       router.rpc({ name: 'open' }, () => true);
       export default router;`,
    );
    const tandem = (...args: readonly string[]) =>
      spawnSync(process.execPath, [main, ...args], {
        cwd: folder,
        env: userEnvironment(),
        encoding: 'utf8',
      });
    assert.equal(tandem('list', 'shop.js').status, 0);
    const nats = 'nats://127.0.0.1:4222';
    const line =
      'tandem: option nats: it needs the package @nats-io/transport-node, which cannot be loaded: npm install @nats-io/transport-node@3.3.1';
    for (const args of [
      ['serve', 'shop.js', '--port', '0', '--nats', nats],
      ['serve', 'shop.js', '--port', '0', '--nats', nats, '--no-supervisor'],
      ['gateway', '--port', '0', '--nats', nats],
    ]) {
      const { status, stdout, stderr } = tandem(...args);
      const said = stderr.split('\n').filter((text) => text !== '' && !text.startsWith('{'));
      assert.deepEqual(said, [line], args.join(' '));
      assert.equal(stdout, '');
      assert.equal(status, 1, args.join(' '));
    }
  });

  test('tandem-rpc/jwt signs callers in from a hooks module; without jose, or with wrong options, the start is one line', async () => {
    const folder = emptyFolder();
    const main = await installPacked(folder);
    const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    write(
      'shop.js',
      `import { Router } from 'tandem-rpc';
       const router = new Router();
       router.rpc({ name: 'who', placement: 'inline' }, (params, { auth }) => auth);
       export default router;`,
    );
    const hooks = (audience: string) =>
      `import { jwt } from 'tandem-rpc/jwt';
       export const authenticate = jwt({ issuer: process.env.ISSUER, audience: ${audience} });`;
    write('hooks.js', hooks("'x'"));
    write('wrong.js', hooks('undefined'));
    const issuer = await Issuer.start({ after });
    const env = { ...userEnvironment(), ISSUER: issuer.url };
    const said = (name: string): string[] => {
      const args = ['serve', 'shop.js', '--port', '0', '--hooks', name, '--no-supervisor'];
      const options = { cwd: folder, env, encoding: 'utf8' } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options);
      assert.deepEqual([status, stdout], [1, ''], stderr);
      return stderr.split('\n').filter((text) => text !== '' && !text.startsWith('{'));
    };
    assert.deepEqual(said('wrong.js'), [
      'tandem: hooks: jwt: option audience must be a text, or a list of texts, got undefined',
    ]);
    write(
      'main.js',
      `import { RpcApp } from 'tandem-rpc';
       import router from './shop.js';
       import { authenticate } from './hooks.js';
       const app = new RpcApp({ router, authenticate, port: 0, logLevel: 'silent' });
       const { url } = await app.listen();
       const headers = { 'content-type': 'application/json', authorization: process.argv[2] };
       const body = '{"jsonrpc":"2.0","id":1,"method":"who"}';
       const { result } = await (await fetch(url, { method: 'POST', headers, body })).json();
       console.log(result.sub);
       await app.close();`,
    );
    const token = await issuer.token({ claims: { aud: 'x' } });
    process.env.ISSUER = issuer.url;
    assert.equal(await run(folder, ['main.js', `Bearer ${token}`]), 'ann\n');
    rmSync(join(folder, 'node_modules/jose'), { recursive: true });
    assert.deepEqual(said('hooks.js'), [
      'tandem: hooks: jwt: it needs the package jose, which is not installed: npm install jose',
    ]);
  });

  test("the server's package alone has the client too, with its types", async () => {
    const folder = emptyFolder();
    await installPacked(folder);
    writeFileSync(join(folder, 'main.js'), program('tandem-rpc/client'));
    assert.equal(await run(folder, ['main.js', server.url]), '[3,10,20,-32601,4]\n');
    writeFileSync(
      join(folder, 'typed.ts'),
      `import { createClient, RpcError } from 'tandem-rpc/client';
       import { sse } from 'tandem-rpc/client/sse';
       import { webSocket } from 'tandem-rpc/client/socket';
       import { createCaller, Router } from 'tandem-rpc';
       type Contract = { add: { params: { a: number }; result: number } };
       const client = createClient<Contract>({ url: 'http://x', streams: sse() });
       export const sum = (): Promise<number> => client.add({ a: 1 });
       // @ts-expect-error: a is a number
       export const wrong = () => client.add({ a: 'x' });
       export { createCaller, Router, webSocket };
       console.log(RpcError.prototype instanceof Error);`,
    );
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const flags = ['--module', 'nodenext', '--strict', '--target', 'es2022', '--types', 'node'];
    await run(folder, [tsc, ...flags, '--skipLibCheck', 'typed.ts']);
    assert.equal(await run(folder, ['typed.js']), 'true\n');
    const licences = readFileSync(
      join(folder, 'node_modules/tandem-rpc/dist/LICENSES.txt'),
      'utf8',
    );
    assert.match(licences, /^@sinclair\/typebox \d.*MIT/ms);
  });
});
