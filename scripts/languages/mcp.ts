/**
 * The Model Context Protocol's own programs against this server: the official conformance suite in both generations of the protocol,
 * held to the baselines in test/fixtures/mcp (what is expected to fail, and nothing else); the command line of the official
 * inspector, over HTTP and stdio; and the client of fastmcp, which signs in.
 *
 * The first two need Node 22, and take 330 MB with it.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jwt } from '../../src/extras/jwt/jwt.ts';
import { RpcApp } from '../../src/index.ts';
import { root } from '../../test/files.ts';
import { freePort } from '../../test/free-port.ts';
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

async function conformance(shell: Shell, url: string, revision: string): Promise<void> {
  const baseline = join(root, `test/fixtures/mcp/conformance-${revision}.yml`);
  const args = ['--url', url, '--requirements', revision, '--expected-failures', baseline];
  const printed = await shell.run('conformance server', ...args);
  const total = /Total: .*/.exec(printed)?.[0] ?? '';
  console.log(`conformance ${revision}: ${total}, as the baseline says`);
}

/** A service that wants a token, and a client that gets one by itself. */
async function signIn(): Promise<void> {
  const ends: (() => unknown)[] = [];
  try {
    const issuer = await Issuer.start({ after: (end) => ends.push(end) });
    const port = await freePort();
    const publicUrl = `http://localhost:${port}`;
    const audience = `${publicUrl}/mcp`;
    const app = new RpcApp({
      ...service,
      port,
      publicUrl,
      mcpAuthorizationServers: issuer.url,
      mcpScopes: 'tools',
      authenticate: jwt({ issuer: issuer.url, audience }),
    });
    ends.push(() => app.close());
    await app.listen();
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
    await signIn();
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
