/**
 * `npm run test:schemathesis`: schemathesis, which makes up requests from an OpenAPI document, against a service of hard shapes
 * that asks who calls. Any finding fails the run; test/openapi/schemathesis.toml names what is not checked, and why.
 *
 * It is a program of Python. The first run installs it, in the versions of test/openapi/schemathesis-requirements.txt, into
 * an environment in node_modules/.cache.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RpcApp, RpcError } from '../src/index.ts';
import { root } from '../test/files.ts';
import { fail } from './arguments.ts';

const python = 'python3';
const leastMinor = 11;
/** Longest run, milliseconds. */
const limitMs = 120_000;
const token = 'a-token';

const folder = join(root, 'node_modules/.cache/tandem-schemathesis');
const requirements = join(root, 'test/openapi/schemathesis-requirements.txt');
const settings = join(root, 'test/openapi/schemathesis.toml');
const fixture = join(root, 'test/fixtures/openapi/hard-shapes.ts');

/** Runs a program whose output is shown only if it fails. */
function prepare(command: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) fail(`${command} ${args.join(' ')} failed: ${error ?? stdout + stderr}`);
}

function install(): void {
  const { status, stdout } = spawnSync(python, ['--version'], { encoding: 'utf8' });
  const needed = `Python 3.${leastMinor} or newer is needed, as ${python} on the PATH, with its module venv`;
  if (status !== 0) fail(`${needed}: it is not there`);
  const minor = Number(/^Python 3\.(\d+)/.exec(stdout)?.[1]);
  if (!(minor >= leastMinor)) fail(`${needed}: it is ${stdout.trim()}`);
  const installed = join(folder, 'requirements.txt');
  const wanted = readFileSync(requirements, 'utf8');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return;
  console.log('installing schemathesis, 90 MB');
  rmSync(folder, { recursive: true, force: true });
  prepare(python, ['-m', 'venv', folder]);
  prepare(join(folder, 'bin/pip'), ['install', '--quiet', '--no-deps', '-r', requirements]);
  writeFileSync(installed, wanted);
}

install();
const app = new RpcApp({
  modules: [fixture],
  httpPath: '/api',
  port: 0,
  workers: 1,
  logLevel: 'silent',
  authenticate: ({ headers }) => {
    if (headers.authorization !== `Bearer ${token}`) throw new RpcError(401, 'who are you?');
  },
});
const { port } = await app.listen();
const url = `http://127.0.0.1:${port}`;
try {
  const authorization = `Bearer ${token}`;
  const response = await fetch(`${url}/openapi.json`, { headers: { authorization } });
  const document = join(folder, 'openapi.json');
  writeFileSync(document, await response.text());
  const args = ['--config-file', settings, 'run', document, '--url', url, '--no-color'];
  const child = spawn(join(folder, 'bin/st'), args, {
    // It writes reports and caches where it runs.
    cwd: folder,
    env: { ...process.env, TANDEM_TOKEN: token },
    stdio: 'inherit',
    timeout: limitMs,
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal !== null) console.error(`schemathesis had not ended after ${limitMs / 1000} s`);
  process.exitCode = code ?? 1;
} finally {
  await app.close();
}
