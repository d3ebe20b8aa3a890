import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bannerOnTerminal, withTerminal } from './banner-on-terminal.ts';
import { ask, fixture, startCli, startServer } from './process.ts';

const procedures = fixture('cli/procedures.ts');
const lifecycle = fixture('cli/lifecycle.ts');

describe('the banner of tandem serve --http-path', withTerminal, () => {
  it('has a link to the OpenAPI document', async (t) => {
    const { banner, url, close } = await bannerOnTerminal([procedures, '--http-path', '/api']);
    t.after(close);
    const [, link = ''] = /^As plain HTTP: (\S+)$/m.exec(banner) ?? [];
    assert.equal(link, new URL('/openapi.json', url).href);
    assert.equal((await fetch(link)).status, 200);
  });
});

describe('tandem serve with a group of workers', () => {
  const groups = ['--group', 'heavy:workers=2,spareWorkers=0,workerMemoryMb=256'];
  const args = [fixture('service/groups.ts'), ...groups, '--spare-workers', '1'];

  it('names it in the banner', withTerminal, async (t) => {
    const { banner, threadsText, close } = await bannerOnTerminal(args);
    t.after(close);
    assert.match(threadsText, /, 1 worker and an express worker, 4 threads in all, on /);
    const row =
      '  group heavy: 2 workers without an express worker (no spare), 256 MB of heap each';
    assert.ok(banner.split('\n').includes(row), banner);
    assert.match(banner, /^ {2}heavy\.thread\(\.\.\.\) -> unknown +worker:heavy$/m);
  });
});

describe('signals', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`${signal} lets the call in flight end, then exits with 0`, async () => {
      const { server, url } = await startServer([lifecycle]);
      const reply = ask(url, { id: 1, method: 'untilSignal' });
      await server.seen('stdout', /untilSignal entered/);
      server.child.kill(signal);
      assert.deepEqual(await reply, { jsonrpc: '2.0', id: 1, result: signal });
      const { code, stderr } = await server.exit;
      assert.equal(code, 0, stderr);
    });
  }

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    it(`a second ${signal} exits at once with ${code}`, async () => {
      const { server, url } = await startServer([lifecycle, '--shutdown-grace', '60s']);
      const lost = assert.rejects(ask(url, { id: 1, method: 'forever' }));
      await server.seen('stdout', /forever entered/);
      server.child.kill(signal);
      await server.seen('stderr', /draining/);
      server.child.kill(signal);
      const exit = await server.exit;
      await lost;
      assert.equal(exit.code, code, exit.stderr);
    });
  }

  it('a signal while modules load ends the start with 0', async () => {
    const server = startCli(['serve', fixture('cli/loads-for-ever.mjs'), '--port', '0']);
    await server.seen('stdout', /loading/);
    server.child.kill('SIGTERM');
    const { code, stderr } = await server.exit;
    assert.equal(code, 0, stderr);
  });
});

describe('options', () => {
  it('come from flags, variables and PORT; misspelt variables are pointed out', async () => {
    const env = { TANDEM_PATH: '/api', TANDEM_MAX_BATCH: '1', PORT: '1', TANDEM_STRICT: 'on' };
    const misspelt = { TANDEM_WORKER: '3' };
    const { server, url } = await startServer([procedures, '--no-strict'], { ...env, ...misspelt });
    try {
      assert.match(url, /\/api$/);
      assert.notEqual(new URL(url).port, '1');
      const call = { id: 1, method: 'math.add', params: [1, 2] };
      assert.deepEqual(await ask(url, call), { jsonrpc: '2.0', id: 1, result: 3 });
      const error = { code: -32004, message: 'Limit exceeded', data: { limit: 1 } };
      assert.deepEqual(await ask(url, [call, call]), { jsonrpc: '2.0', id: null, error });
    } finally {
      server.child.kill('SIGTERM');
      await server.exit;
    }
    assert.match(server.stderr, /TANDEM_WORKER .*TANDEM_WORKERS\?/);
  });
});

describe('what a procedure leaves behind', () => {
  it('does not end the service when it is a rejected promise', async () => {
    const { server, url } = await startServer([lifecycle]);
    assert.deepEqual(await ask(url, { id: 1, method: 'leaveRejection' }), {
      jsonrpc: '2.0',
      id: 1,
      result: null,
    });
    await server.seen('stderr', /nobody awaits this/);
    const reply = await ask(url, { id: 2, method: 'leaveRejection' });
    assert.deepEqual(reply, { jsonrpc: '2.0', id: 2, result: null });
    server.child.kill('SIGTERM');
    assert.equal((await server.exit).code, 0);
  });

  it('does not either when it is an exception: its file and line are in the log', async () => {
    const { server, url } = await startServer([lifecycle, '--no-supervisor']);
    const reply = await ask(url, { id: 1, method: 'leaveException' });
    assert.deepEqual(reply, { jsonrpc: '2.0', id: 1, result: null });
    await server.seen(
      'stderr',
      /a procedure module failed outside of any call: it threw Error: .*nobody catches this \(.*lifecycle\.[jt]s:\d+\); the process goes on/,
    );
    assert.deepEqual(await ask(url, { id: 2, method: 'leaveException' }), { ...reply, id: 2 });
    server.child.kill('SIGTERM');
    assert.equal((await server.exit).code, 0);
  });
});

describe('tandem serve without uWebSockets.js', () => {
  const native = encodeURIComponent(`
    const { dlopen } = process;
    process.dlopen = (module, path, flags) => {
      if (path.includes('uws_')) throw new Error('GLIBC_2.38 not found');
      return dlopen(module, path, flags);
    };`);
  for (const flags of [[], ['--no-supervisor']]) {
    it(`says in one line why it serves on node:http, and what to do: ${flags.join(' ') || 'supervised'}`, async () => {
      const { server } = await startServer([procedures, ...flags], {
        NODE_OPTIONS: `--import "data:text/javascript,${native}"`,
      });
      server.child.kill('SIGTERM');
      const { stderr } = await server.exit;
      assert.match(stderr, /listens on http:\S+ \(node:http, /);
      const told = stderr.split('\n').filter((line) => line.includes('serving on node:http'));
      assert.equal(told.length, 1, stderr);
      assert.match(
        told[0] ?? '',
        /because .* uWebSockets\.js cannot load: .*With option transport/,
      );
    });
  }
});
