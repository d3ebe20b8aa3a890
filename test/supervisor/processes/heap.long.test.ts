/** `tandem heap`: docs/operations.md, "Admin commands". */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { HeapFile } from '../../../src/core/service/heap-snapshots.ts';
import type { Answer } from '../../../src/server/process/orders.ts';
import { runCli } from '../../cli/process.ts';
import { needs } from '../../servers.ts';
import { until } from '../../turns.ts';
import { CompiledCli, service } from './cli.ts';
import { Load } from './load.ts';

const cli = await CompiledCli.suite();
let count = 0;

interface Snapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: readonly string[] } };
  readonly strings: readonly string[];
}

/** A service with a socket for orders, and a folder for its snapshots. */
async function started(t: Parameters<typeof cli.serveFor>[0], ...flags: string[]) {
  const path = join(cli.folder, `heap${count++}`);
  const folder = `${path}-files`;
  mkdirSync(folder);
  const { url } = await cli.serveFor(t, [service, '--admin-socket', path, ...flags], {
    TANDEM_HEAP_DIR: folder,
  });
  await until(() => existsSync(path));
  return {
    url,
    folder,
    write: async (...args: string[]) => {
      const { code, stdout } = await runCli(['heap', '--json', '--admin-socket', path, ...args]);
      const [answer] = JSON.parse(stdout) as [Answer];
      assert.equal(code, answer.error === undefined ? 0 : 1);
      return { file: answer.answer as HeapFile, error: answer.error, of: answer.process };
    },
  };
}

const two = ['--workers', '2', '--spare-workers', '1'];

for (const flags of [['--processes', '2'], ['--no-supervisor']])
  test(
    `writes the heap of a worker that is replaced, for this user alone, and loses no call: ${flags.join(' ')}`,
    needs(flags.includes('2') ? 'uws' : undefined),
    async (t) => {
      const { url, folder, write } = await started(t, ...two, ...flags);
      const load = new Load(url, 4);
      const last = flags.length === 2 ? '2' : '1';
      const { file, error, of } = await write('--process', last);
      assert.equal(error, undefined);
      assert.equal(of, Number(last));
      assert.deepEqual(
        readdirSync(folder).map((name) => join(folder, name)),
        [file.path],
      );
      assert.equal(statSync(file.path).mode & 0o777, 0o600);
      const text = readFileSync(file.path, 'utf8');
      assert.equal(file.bytes, Buffer.byteLength(text));
      const { snapshot, strings } = JSON.parse(text) as Snapshot;
      assert.ok(snapshot.meta.node_fields.includes('self_size'));
      // The module's code, and so the heap of a thread that has loaded it.
      assert.ok(strings.some((one) => one.includes('untilFile')));
      // The fresh worker takes the number of the one that has gone, when it has loaded.
      let again = await write('--process', last, '--worker', String(file.worker));
      while (again.error?.startsWith('there is no worker'))
        again = await write('--process', last, '--worker', String(file.worker));
      assert.equal(again.error, undefined);
      assert.equal(again.file.worker, file.worker);
      for (const one of await load.stop()) assert.equal(one.error ?? one.failure, undefined);
    },
  );

test('is refused, in one line, and leaves no file', async (t) => {
  const { folder, write } = await started(t, ...two);
  for (const [args, error] of [
    [['--worker', '9'], /^there is no worker 9: the workers are 1, 2/],
    [['--group', 'models'], /^no workers have the group "models"$/],
    [['--process', '2'], /^there is no such process: the service has 1$/],
  ] as const)
    assert.match((await write(...args)).error ?? '', error);
  assert.deepEqual(readdirSync(folder), []);
});

test('is refused without a folder, with one worker alone, and where the memory does not suffice', async (t) => {
  const alone = await started(t);
  assert.match(
    (await alone.write()).error ?? '',
    /^no other worker could take its calls meanwhile/,
  );
  const small = await started(t, ...two, '--no-supervisor', '--max-process-mb', '64');
  assert.match(
    (await small.write()).error ?? '',
    /^a snapshot of \d+ MB takes about \d+ MB of memory, and maxProcessMb leaves 0 MB$/,
  );
  const none = await started(t, ...two, '--heap-dir', 'none');
  assert.match((await none.write()).error ?? '', /^start the service with --heap-dir FOLDER: /);
  const lost = await started(t, ...two, '--heap-dir', '/nowhere');
  assert.match(
    (await lost.write()).error ?? '',
    /^option heapDir: the file cannot be made: ENOENT/,
  );
  for (const { folder } of [alone, small, none, lost]) assert.deepEqual(readdirSync(folder), []);
});
