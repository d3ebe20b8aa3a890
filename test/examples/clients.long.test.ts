/** The clients by hand of examples/clients, in Python and Go, against a service, a proxy that fails, and nobody. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Running } from '../cli/process.ts';
import { describeWith } from '../describe-with.ts';
import { read } from '../docs/pages.ts';
import { fixture, root, temporaryFolder } from '../files.ts';
import { freePort } from '../free-port.ts';
import { type Lifetime, listenTo, startApp } from '../harness.ts';
import { findProgram } from '../programs.ts';

/** Answers as what stands between may: with a page, half an answer, half a stream. */
async function startProxy(t: Lifetime): Promise<string> {
  const value = '{"jsonrpc":"2.0","method":"countdown","params":{"subscription":1,"result":3}}';
  const port = await listenTo(t, (request, response) => {
    if (request.url === '/page') {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    } else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{"jsonrpc"', () => response.destroy());
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${value}\n\n`, () => response.destroy());
    }
  });
  return `http://127.0.0.1:${port}`;
}

/** @returns what the program has printed: a JSON object a line, all as one */
async function outcomes(
  t: Lifetime,
  command: readonly [program: string, ...args: string[]],
  folder: string,
): Promise<Record<string, unknown>> {
  const { url } = await startApp(t, {
    modules: [fixture('clients.ts')],
    forwardHeaders: ['authorization'],
    maxBatch: 3,
    maxBodyBytes: 10_000,
  });
  const proxy = await startProxy(t);
  const nobody = `http://127.0.0.1:${await freePort()}/rpc`;
  const [program, ...args] = command;
  const child = spawn(program, args, {
    cwd: folder,
    env: {
      ...process.env,
      SERVICE: url,
      PROXY: proxy,
      NOBODY: nobody,
      PYTHONDONTWRITEBYTECODE: '1',
    },
  });
  const { code, stdout, stderr } = await new Running(child).exit;
  assert.equal(code, 0, stderr);
  return Object.assign(
    {},
    ...stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  );
}

const lost = { lost: true };
const expected = {
  call: { result: 0.25 },
  'no params, no result': { result: null },
  'declared error': { code: 1001, message: 'Division by zero', data: { dividend: 1 } },
  'invalid params': {
    code: -32602,
    message: 'Invalid params',
    data: [{ path: '/b', message: 'must be number', expected: 'number', received: 'string' }],
  },
  unknown: {
    code: -32601,
    message: 'Method not found',
    data: { method: 'divid', didYouMean: 'divide' },
  },
  header: { result: 'Bearer secret' },
  batch: { result: [{ result: 0.5 }, { code: 1001 }, { result: null }] },
  'batch refused': { code: -32004, message: 'Limit exceeded', data: { limit: 3 } },
  'too large': { code: -32004, message: 'Limit exceeded', data: { limit: 10_000 } },
  stream: { result: [3, 2, 1, { result: 'é' }] },
  'stream fails': { result: [7, { code: 1002 }] },
  'no stream': { result: [{ code: -32601 }] },
  'stream left': { result: 5 },
  "proxy's page": lost,
  cut: lost,
  'stream cut': { result: [3, lost] },
  nobody: lost,
};

describeWith(findProgram('python3'), 'needs Python 3.9', 'examples/clients/rpc.py', (python) => {
  test('calls, batches, streams and times out as the service says', async (t) => {
    const folder = temporaryFolder(t);
    for (const file of ['examples/clients/rpc.py', 'test/examples/clients/check.py']) {
      cpSync(join(root, file), join(folder, file.split('/').at(-1) ?? ''));
    }
    assert.deepEqual(await outcomes(t, [python, 'check.py'], folder), {
      ...expected,
      deadline: { code: -32001, message: 'Deadline exceeded', data: { timeoutMs: 300 } },
      'stream late': { result: [9, { code: -32001 }] },
    });
  });
});

describeWith(findProgram('go'), 'needs Go 1.21', 'examples/clients/go', (go) => {
  test('calls, batches, streams and times out as the service says', async (t) => {
    const folder = temporaryFolder(t);
    cpSync(join(root, 'examples/clients/go'), folder, { recursive: true });
    cpSync(join(root, 'test/examples/clients/check.go'), join(folder, 'main.go'));
    const vet = await new Running(spawn(go, ['vet', './rpc'], { cwd: folder })).exit;
    assert.equal(vet.code, 0, vet.stderr);
    const all = await outcomes(t, [go, 'run', '.'], folder);
    assert.deepEqual(all, { ...expected, deadline: { result: true } });
  });
});

test('the clients have the lines that their recipes say', () => {
  for (const [file, lines] of [
    ['rpc.py', 60],
    ['go/rpc/rpc.go', 135],
  ] as const) {
    const code = read(`examples/clients/${file}`)
      .split('\n')
      .filter((line) => line.trim() !== '');
    assert.ok(code.length <= lines, `${file}: ${code.length}`);
  }
});
