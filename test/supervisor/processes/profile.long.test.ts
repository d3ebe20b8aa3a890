/** docs/operations.md, "A CPU profile": `tandem profile`. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Answer, KeptProfile } from '../../../src/server/process/orders.ts';
import { runCli } from '../../cli/process.ts';
import { needs } from '../../servers.ts';
import { until } from '../../turns.ts';
import { CompiledCli, service, written } from './cli.ts';
import { Load } from './load.ts';

const cli = await CompiledCli.suite();

const run = (args: readonly string[]) => runCli(['profile', ...args]);

const freshFolder = (): string => mkdtempSync(join(cli.folder, 'profile-'));

for (const flags of [['--processes', '2'], ['--no-supervisor']])
  test(
    `tandem profile writes one file a thread, loses no call, and its table adds up: ${flags.join(' ')}`,
    needs(flags.includes('2') ? 'uws' : undefined),
    async (t) => {
      const folder = freshFolder();
      const path = join(folder, 'admin.sock');
      const out = join(folder, 'made', 'here');
      const { url } = await cli.serveFor(t, [service, '--admin-socket', path, ...flags]);
      await until(() => existsSync(path));
      const load = new Load(url, 4);
      const args = ['--admin-socket', path, '--out', out, '--seconds', '1'];
      const { code, stdout, stderr } = await run([...args, '--interval-ms', '5', '--json']);
      for (const { error, failure } of await load.stop()) assert.equal(error ?? failure, undefined);
      assert.equal(code, 0, stderr);
      const told = JSON.parse(stdout) as Answer[];
      assert.equal(told.length, flags.includes('2') ? 2 : 1);
      for (const { process: number, answer } of told) {
        const { threads, functions } = answer as KeptProfile;
        assert.equal(threads[0]?.file, join(out, `process-${number}-main.cpuprofile`));
        assert.ok(threads.length > 1);
        let samples = 0;
        for (const { file = '' } of threads) {
          assert.equal(statSync(file).mode & 0o777, 0o600);
          const { nodes, startTime, endTime, timeDeltas } = JSON.parse(
            readFileSync(file, 'utf8'),
          ) as {
            nodes: { hitCount: number }[];
            startTime: number;
            endTime: number;
            timeDeltas: number[];
          };
          assert.ok(endTime - startTime > 900_000 && timeDeltas.length > 0);
          samples += nodes.reduce((sum, { hitCount }) => sum + hitCount, 0);
        }
        assert.equal(
          functions.reduce((sum, { self }) => sum + self, 0),
          samples,
        );
      }
      const text = await run([...args.slice(0, -1), '0.1']);
      assert.match(text.stdout, /^process 1 \(pid \d+\)\n {2}main: \S+\.cpuprofile\n/);
      assert.match(text.stdout, /samples by function\n {2} +\d+\.\d% +\d+\.\d% {2}\S/);
    },
  );

test('tandem profile of more than 60 s, or beside another one, is refused; a client that leaves stops its own', async (t) => {
  const folder = freshFolder();
  const path = join(folder, 'admin.sock');
  await cli.serveFor(t, [service, '--admin-socket', path]);
  const args = ['--admin-socket', path, '--out', folder];
  const long = await run([...args, '--seconds', '61']);
  assert.equal(long.code, 1);
  assert.match(long.stdout, /failed: seconds: expected more than 0 and at most 60/);
  assert.match((await run([...args, '--seconds', 'x'])).stderr, /Expected a number/);
  const first = connect(path);
  first.write('{"order":"profile","seconds":60,"intervalMs":10}\n');
  const ask = async (): Promise<Answer> => {
    const read = await written(path, '{"order":"profile","seconds":0.05,"intervalMs":10}\n');
    return JSON.parse(read.split('\n')[0] ?? '') as Answer;
  };
  let second = await ask();
  while (second.error === undefined) second = await ask(); // until the first one has come
  assert.match(second.error, /is under way: there is one at a time/);
  first.destroy();
  while (second.error !== undefined) second = await ask();
});
