import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needs } from '../../servers.ts';
import { CompiledCli, endWith, logOf } from './cli.ts';
import { drainRound, emptyReport } from './drain.ts';
import { ask } from './load.ts';

const cli = await CompiledCli.suite();

const ways: readonly (readonly [args: readonly string[], rounds: readonly number[]])[] = [
  [[], [100]],
  [
    ['--processes', '2'],
    [30, 100],
  ],
  [['--no-supervisor'], [100]],
  [['--transport', 'node'], [100]],
];

for (const [args, rounds] of ways) {
  test(
    `SIGTERM under load loses no accepted call: ${args.join(' ') || 'by default'}`,
    needs(args.includes('--processes') ? 'uws' : 'node'),
    async (t) => {
      const report = emptyReport();
      const start = async (env: NodeJS.ProcessEnv) => {
        const started = await cli.serve(['--port', '0', ...args], env);
        endWith(t, started.server);
        return started;
      };
      for (const before of rounds) await drainRound(start, before, report);
      t.diagnostic(JSON.stringify(report));
      assert.deepEqual(report.violations, []);
      assert.equal(report.answered, report.accepted);
      assert.ok(report.accepted >= 100);
    },
  );
}

test('at the end of the grace time what runs is answered -32002, what never started -32003', async (t) => {
  const { server, url } = await cli.serve(['--port', '0', '--shutdown-grace', '200ms']);
  endWith(t, server);
  const batch = ask(url, [
    { id: 1, method: 'spin' },
    { id: 2, method: 'pooled', params: { n: 0 } },
  ]);
  const single = ask(url, { id: 3, method: 'forever' });
  await server.seen('stdout', /spin entered/);
  await server.seen('stdout', /forever entered/);
  server.child.kill('SIGTERM');
  const lost = { code: -32002, message: 'Worker lost', data: { reason: 'shutdown' } };
  const cancelled = { code: -32003, message: 'Cancelled', data: { retry: true } };
  assert.deepEqual(await batch, {
    body: [
      { jsonrpc: '2.0', id: 1, error: lost },
      { jsonrpc: '2.0', id: 2, error: cancelled },
    ],
  });
  assert.deepEqual(await single, { body: { jsonrpc: '2.0', id: 3, error: lost } });
  const { code, stderr } = await server.exit;
  assert.equal(code, 0, stderr);
});

test('a process whose main thread stands still is killed at the end of the grace time, and its procedure is named', async (t) => {
  const { server, url } = await cli.serve(['--port', '0', '--shutdown-grace', '2s']);
  endWith(t, server);
  void ask(url, { id: 1, method: 'block' });
  await server.seen('stdout', /block entered/);
  server.child.kill('SIGTERM');
  const { code } = await server.exit;
  assert.equal(code, 1);
  const line = logOf(server).find(({ event }) => event === 'process-stop-failed');
  assert.deepEqual([line?.signal, line?.method], ['SIGKILL', 'block']);
  const [, ms] = /had not ended (\d+) ms after it was told to/.exec(String(line?.detail)) ?? [];
  // No 5 s beyond the grace, whatever else the machine does.
  assert.ok(Number(ms) >= 2000 && Number(ms) < 6500, ms);
});

test('a grace time of 0: a process that gives signs of life may end', async (t) => {
  const { server, url } = await cli.serve(['--port', '0', '--shutdown-grace', '0']);
  endWith(t, server);
  const spins = ask(url, { id: 1, method: 'spin' });
  await server.seen('stdout', /spin entered/);
  server.child.kill('SIGTERM');
  const error = { code: -32002, message: 'Worker lost', data: { reason: 'shutdown' } };
  assert.deepEqual(await spins, { body: { jsonrpc: '2.0', id: 1, error } });
  const { code, stderr } = await server.exit;
  assert.equal(code, 0, stderr);
});
