/**
 * `npm run test:schemathesis`: schemathesis, which makes up requests from an OpenAPI document, against a service of hard shapes
 * that asks who calls. Any finding fails the run; test/openapi/schemathesis.toml names what is not checked, and why.
 *
 * It is a program of Python. The first run installs it, in the versions of test/openapi/schemathesis-requirements.txt, into
 * an environment in node_modules/.cache.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RpcApp, RpcError } from '../src/index.ts';
import { root } from '../test/files.ts';
import { installPython } from './python.ts';

/** Longest run, milliseconds. */
const limitMs = 120_000;
const token = 'a-token';

const folder = join(root, 'node_modules/.cache/tandem-schemathesis');
const requirements = join(root, 'test/openapi/schemathesis-requirements.txt');
const settings = join(root, 'test/openapi/schemathesis.toml');
const fixture = join(root, 'test/fixtures/openapi/hard-shapes.ts');

installPython(folder, requirements, 'schemathesis, 90 MB');
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
