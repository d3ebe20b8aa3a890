import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needs } from '../../servers.ts';
import { CompiledCli, endWith } from './cli.ts';
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
  const cancelled = { code: -32003, message: 'Cancelled' };
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
