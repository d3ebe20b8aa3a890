/**
 * The Model Context Protocol's own programs against this server: the official conformance suite in both generations of the protocol,
 * held to the baselines in test/fixtures/mcp (what is expected to fail, and nothing else), without a token and with one; the command
 * line of the official inspector, over HTTP and stdio; and the client of fastmcp, which signs in.
 *
 * The first two need Node 22, and take 330 MB with it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { jwt } from '../../src/extras/jwt/jwt.ts';
import { RpcApp } from '../../src/index.ts';
import { root } from '../../test/files.ts';
import { Issuer } from '../../test/jwt/issuer.ts';
import { builds, pythonShell, Shell, type Suite } from './shell.ts';

const versions = {
  node: '22.23.3',
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
  '@modelcontextprotocol/inspector': '2.12.0',
};
/** Revisions of the specification, each with a baseline. */
const revisions = ['2026-07-28', '2025-11-25'];
const fixture = join(root, 'test/fixtures/mcp/conformance.ts');
const service = { modules: [fixture], mcp: true, port: 0, workers: 1, logLevel: 'silent' } as const;

async function install(): Promise<Shell> {
  const folder = join(builds, 'mcp');
  const bin = join(folder, 'node_modules/.bin');
  const shell = new Shell(folder, [join(folder, 'node_modules/node/bin'), bin]);
  const manifest = join(folder, 'package.json');
  writeFileSync(manifest, JSON.stringify({ private: true, dependencies: versions }));
  await shell.install(manifest, 'npm install --no-audit --no-fund');
  return shell;
}

async function conformance(shell: Shell, url: string, revision: string, how = ''): Promise<void> {
  const baseline = join(root, `test/fixtures/mcp/conformance-${revision}.yml`);
  const args = ['--url', url, '--requirements', revision, '--expected-failures', baseline];
  const printed = await shell.run('conformance server', ...args);
  const total = /Total: .*/.exec(printed)?.[0] ?? '';
  console.log(`conformance ${revision}${how}: ${total}, as the baseline says`);
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

/** The suite's scenarios for servers, of a service that wants a token; and a client that gets one by itself. */
async function signIn(shell: Shell): Promise<void> {
  const ends: (() => unknown)[] = [];
  try {
    const issuer = await Issuer.start({ after: (end) => ends.push(end) });
    const proxy = new TokenProxy();
    ends.push(() => proxy.close());
    const publicUrl = await proxy.listen();
    const audience = `${publicUrl}/mcp`;
    const app = new RpcApp({
      ...service,
      publicUrl,
      mcpAuthorizationServers: issuer.url,
      mcpScopes: 'tools',
      authenticate: jwt({ issuer: issuer.url, audience }),
    });
    ends.push(() => app.close());
    proxy.target = (await app.listen()).port;
    const requirements = join(root, 'test/mcp/fastmcp-requirements.txt');
    const python = await pythonShell(join(builds, 'fastmcp'), requirements);
    const program = join(root, 'test/mcp/fastmcp_sign_in.py');
    const printed = await python.run('python3', program, audience);
    assert.match(printed, /test_image_content/);
    assert.match(printed, /This is a simple text response for testing\./);
    const asked = ['/register', '/authorize', '/token', '/jwks'];
    assert.deepEqual(
      asked.filter((path) => !issuer.asked.includes(path)),
      [],
    );
    console.log('fastmcp: signed in and called');
    const ping = shell.run('conformance server --scenario ping --url', audience);
    await assert.rejects(ping, 'the suite passes without a token');
    const claims = { aud: audience, scope: 'tools', exp: Math.floor(Date.now() / 1000) + 3600 };
    proxy.authorization = `Bearer ${await issuer.token({ claims })}`;
    for (const revision of revisions) await conformance(shell, audience, revision, ' with a token');
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

async function inspect(shell: Shell, url: string): Promise<void> {
  const config = join(shell.folder, 'stdio.json');
  const args = ['--import', 'tsx', join(root, 'src/cli/main.ts'), 'mcp', fixture, '--workers', '1'];
  const server = { command: process.execPath, args, cwd: root };
  writeFileSync(config, JSON.stringify({ mcpServers: { tandem: server } }));
  const servers = {
    HTTP: [url, '--transport', 'http'],
    stdio: ['--config', config, '--server', 'tandem', '--connect-timeout', '300000'],
  };
  const call = ['--method', 'tools/call', '--tool-name', 'test_simple_text'];
  const inspector = async (how: readonly string[], wanted: RegExp): Promise<void> =>
    assert.match(await shell.run('mcp-inspector --cli', ...how), wanted);
  for (const [name, how] of Object.entries(servers)) {
    await inspector([...how, '--method', 'tools/list', '--strict'], /"name": "test_image_content"/);
    await inspector([...how, ...call], /This is a simple text response for testing\./);
    console.log(`inspector, list and call over ${name}: as expected`);
  }
  await inspector([...servers.HTTP, ...call, '--load', '--load-requests', '500'], /500/);
  console.log('inspector, load: as expected');
}

export const mcp: Suite = {
  needs: { python3: 'Python 3.11 or newer' },
  async run() {
    const shell = await install();
    await signIn(shell);
    const app = new RpcApp(service);
    const { mcpUrl = '' } = await app.listen();
    try {
      const url = mcpUrl.replace('127.0.0.1', 'localhost');
      for (const revision of revisions) await conformance(shell, url, revision);
      // What no revision requires, and this server has.
      const header = 'conformance server --scenario http-header-validation --spec-version';
      await shell.run(`${header} 2026-07-28 --url ${url}`);
      console.log('conformance 2026-07-28: http-header-validation passes');
      await inspect(shell, url);
    } finally {
      await app.close();
    }
  },
};
