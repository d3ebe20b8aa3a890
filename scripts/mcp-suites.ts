/**
 * `npm run test:mcp`: the Model Context Protocol's own programs against this server. The official conformance suite in both
 * generations of the protocol, held to the baselines in test/fixtures/mcp (what is expected to fail, and nothing else), without a
 * token and with one; the command line of the official inspector, over HTTP and stdio; and the client of fastmcp, which signs in.
 *
 * The first two need Node 22, and with it they take 330 MB. So they are no development dependencies: the first run installs them,
 * with npm, into node_modules/.cache, in the versions below. fastmcp is a package of Python, in the versions of
 * test/mcp/fastmcp-requirements.txt.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { jwt } from '../src/extras/jwt/jwt.ts';
import { RpcApp } from '../src/index.ts';
import { root } from '../test/files.ts';
import { Issuer } from '../test/jwt/issuer.ts';
import { installPython } from './python.ts';

const versions = {
  node: '22.23.3',
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
  '@modelcontextprotocol/inspector': '2.12.0',
};

/** Revisions of the specification, each with a baseline. */
const revisions = ['2026-07-28', '2025-11-25'];

const folder = join(root, 'node_modules/.cache/tandem-mcp');
const node = join(folder, 'node_modules/node/bin/node');
const bin = (name: string): string => join(folder, 'node_modules/.bin', name);
const fixture = join(root, 'test/fixtures/mcp/conformance.ts');

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Longest run of one program. */
const limitMs = 300_000;

async function run(command: string, args: readonly string[], cwd = folder): Promise<Ended> {
  const child = spawn(command, args, { cwd, timeout: limitMs, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

async function install(): Promise<void> {
  const manifest = join(folder, 'package.json');
  const wanted = JSON.stringify({ private: true, dependencies: versions });
  if (existsSync(node) && existsSync(bin('conformance')) && existsSync(bin('mcp-inspector')))
    return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifest, wanted);
  console.log('installing the suites, 330 MB');
  const { code, output } = await run('npm', [
    'install',
    '--no-audit',
    '--no-fund',
    '--prefix',
    folder,
  ]);
  assert.equal(code, 0, output);
}

async function conformance(url: string, revision: string, how = ''): Promise<void> {
  const baseline = join(root, `test/fixtures/mcp/conformance-${revision}.yml`);
  const given = ['--requirements', revision, '--expected-failures', baseline];
  const { code, output } = await run(node, [bin('conformance'), 'server', '--url', url, ...given]);
  const summary = output.slice(Math.max(0, output.indexOf('=== SUMMARY ===')));
  assert.equal(code, 0, summary);
  console.log(
    `conformance ${revision}${how}: ${/Total: .*/.exec(summary)?.[0] ?? ''}, as the baseline says`,
  );
}

/** What a revision does not require, and this server has. */
async function scenario(url: string, name: string, revision: string): Promise<void> {
  const given = ['--scenario', name, '--spec-version', revision];
  const { code, output } = await run(node, [bin('conformance'), 'server', '--url', url, ...given]);
  assert.equal(code, 0, output);
  console.log(`conformance ${revision}: ${name} passes`);
}

async function inspector(
  name: string,
  server: readonly string[],
  args: readonly string[],
  wanted: RegExp,
) {
  const { code, output } = await run(
    node,
    [bin('mcp-inspector'), '--cli', ...server, ...args],
    root,
  );
  assert.equal(code, 0, output);
  assert.match(output, wanted);
  console.log(`inspector, ${name}: as expected`);
}

/**
 * A proxy before the server, which gives its own address to a service before the service listens.
 *
 * @param authorization sent along with each request: the suite itself has no option for a token
 */
class TokenProxy {
  authorization: string | undefined;
  /** The port of the service. */
  target = 0;
  readonly #server = createServer((asked, answer) => {
    const { method, url } = asked;
    const own = this.authorization === undefined ? {} : { authorization: this.authorization };
    const headers = { ...asked.headers, ...own };
    const passed = request({ port: this.target, method, path: url, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });

  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** The suite's scenarios for servers again, of a service that wants a token; and a client that gets one by itself. */
async function signIn(): Promise<void> {
  const ends: (() => unknown)[] = [];
  try {
    const issuer = await Issuer.start({ after: (end) => ends.push(end) });
    const proxy = new TokenProxy();
    ends.push(() => proxy.close());
    const publicUrl = await proxy.listen();
    const audience = `${publicUrl}/mcp`;
    const service = new RpcApp({
      modules: [fixture],
      mcp: true,
      publicUrl,
      mcpAuthorizationServers: issuer.url,
      mcpScopes: 'tools',
      authenticate: jwt({ issuer: issuer.url, audience }),
      port: 0,
      workers: 1,
      logLevel: 'silent',
    });
    ends.push(() => service.close());
    proxy.target = (await service.listen()).port;
    const python = join(root, 'node_modules/.cache/tandem-fastmcp');
    installPython(python, join(root, 'test/mcp/fastmcp-requirements.txt'), 'fastmcp, 130 MB');
    const program = join(root, 'test/mcp/fastmcp_sign_in.py');
    const { code, output } = await run(join(python, 'bin/python'), [program, audience]);
    assert.equal(code, 0, output);
    assert.match(output, /test_image_content/);
    assert.match(output, /This is a simple text response for testing\./);
    const asked = ['/register', '/authorize', '/token', '/jwks'];
    assert.deepEqual(
      asked.filter((path) => !issuer.asked.includes(path)),
      [],
    );
    console.log('fastmcp: signed in and called');
    const refused = await run(node, [
      bin('conformance'),
      'server',
      '--url',
      audience,
      '--scenario',
      'ping',
    ]);
    assert.notEqual(refused.code, 0, 'the suite passes without a token');
    const claims = { aud: audience, scope: 'tools', exp: Math.floor(Date.now() / 1000) + 3600 };
    proxy.authorization = `Bearer ${await issuer.token({ claims })}`;
    for (const revision of revisions) await conformance(audience, revision, ' with a token');
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

await install();
await signIn();
const app = new RpcApp({ modules: [fixture], mcp: true, port: 0, workers: 1, logLevel: 'silent' });
const { mcpUrl = '' } = await app.listen();
try {
  const url = mcpUrl.replace('127.0.0.1', 'localhost');
  for (const revision of revisions) await conformance(url, revision);
  await scenario(url, 'http-header-validation', '2026-07-28');
  const http = [url, '--transport', 'http'];
  const list = ['--method', 'tools/list', '--strict'];
  const call = ['--method', 'tools/call', '--tool-name', 'test_simple_text'];
  const said = /This is a simple text response for testing\./;
  await inspector('list over HTTP', http, list, /"name": "test_image_content"/);
  await inspector('call over HTTP', http, call, said);
  await inspector('load', http, [...call, '--load', '--load-requests', '500'], /500/);
  const config = join(folder, 'stdio.json');
  const args = ['--import', 'tsx', join(root, 'src/cli/main.ts'), 'mcp', fixture, '--workers', '1'];
  const server = { command: process.execPath, args, cwd: root };
  writeFileSync(config, JSON.stringify({ mcpServers: { tandem: server } }));
  const stdio = ['--config', config, '--server', 'tandem', '--connect-timeout', String(limitMs)];
  await inspector('list over stdio', stdio, list, /"name": "test_image_content"/);
  await inspector('call over stdio', stdio, call, said);
} finally {
  await app.close();
}
