import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openFilesAdvice, openFilesNote, roomFor } from '../../../src/server/app/open-files.ts';
import { urlOf } from '../../cli/process.ts';
import { json, post, RawClient, request, rpc } from '../../http/raw-client.ts';
import { CompiledCli, endWith, logged, logOf, service } from './cli.ts';
import { ask } from './load.ts';

type Ended = Awaited<ReturnType<typeof ask>>;

const cli = await CompiledCli.suite();

/** One worker and no spare need about 130 while they load, beside the 40 of a process at rest. */
const limit = 256;

const kinds: readonly [what: string, args: readonly string[]][] = [
  ['on uWebSockets.js', []],
  ['on node:http', ['--transport', 'node']],
  ['on uWebSockets.js, without a supervisor', ['--no-supervisor']],
  ['on node:http, without a supervisor', ['--no-supervisor', '--transport', 'node']],
];

describe('where few files may be open', { skip: process.platform === 'win32' }, () => {
  for (const [what, args] of kinds) {
    test(`connections beyond what fits are refused, the others are served: ${what}`, async (t) => {
      const module = join(cli.folder, `few-files-${args.length}.mjs`);
      copyFileSync(service, module);
      const server = cli.runWithin(limit, [
        module,
        '--port',
        '0',
        '--timeout',
        '10m',
        '--max-request-ms',
        '10m',
        ...args,
      ]);
      endWith(t, server);
      const url = await urlOf(server);
      const port = Number(new URL(url).port);
      const [note] = await logged(server, /files may be open/);
      const said = /^at most 256 files .* room for (\d+) connections, not for 10000: /;
      const room = Number(said.exec(note?.msg ?? '')?.[1]);
      assert.ok(room >= 20 && room < limit, note?.msg);

      // All that one address may have, each with a call that waits; then many more than there are files.
      const most = room - Math.floor(room / 10);
      const path = join(cli.folder, `go-on-${args.length}`);
      rmSync(path, { force: true });
      const kept: RawClient[] = [];
      t.after(() => {
        for (const client of kept) client.destroy();
      });
      for (let i = 0; i < most; i++) {
        const client = new RawClient(port);
        kept.push(client);
        await client.write(post(rpc('untilFile', { path })));
      }
      await server.seen('stdout', new RegExp(`(?:untilFile entered\\n){${most}}`));
      const crowd = Array.from({ length: limit }, () => connect(port, '127.0.0.1'));
      await Promise.all(
        crowd.map(
          (socket) =>
            new Promise<void>((resolve) => {
              // A reset is one way to be refused.
              socket.on('error', () => {}).resume();
              socket.once('close', () => resolve());
            }),
        ),
      );
      writeFileSync(path, '');
      const answers = await Promise.all(kept.map((client) => client.response()));
      const pids = new Set(answers.map((answer) => json(answer).result));
      assert.equal(pids.size, 1);
      const metrics = (await kept[0]!.ask(request('GET', '/metrics'))).body.toString();
      assert.match(metrics, /tandem_process_resident_memory_bytes\{[^}]*\} \d{7,}/);
      const pooled = await kept[0]!.ask(post(rpc('pooled', { n: 1 })));
      assert.equal(json(pooled).id, 1);

      // A reload has threads beside the old ones, and opens files.
      appendFileSync(module, '\n// edited\n');
      server.child.kill('SIGHUP');
      const [outcome] = await logged(server, /reloaded/);
      assert.equal(outcome?.event, 'reloaded', outcome?.msg);

      // Who leaves makes room, as soon as the server has noticed.
      for (const client of kept) client.destroy();
      let answer: Ended = { failure: '' };
      while ('failure' in answer) answer = await ask(url, { id: 1, method: 'where' });
      assert.deepEqual([...pids], [(answer.body as { result: unknown }).result]);
      const errors = logOf(server).filter(({ level }) => level === 'error');
      assert.deepEqual(errors, []);
    });
  }

  test('too few to start: one line says what to raise', async (t) => {
    const module = join(cli.folder, 'many-files.mjs');
    const open = `for (let i = 0; i < ${limit}; i++) openSync('/dev/null');`;
    writeFileSync(module, `import { openSync } from 'node:fs';\n${open}\n`);
    for (const args of [[], ['--no-supervisor']]) {
      const server = cli.runWithin(limit, [module, '--port', '0', ...args]);
      endWith(t, server);
      const { code, stderr } = await server.exit;
      assert.match(
        stderr,
        /^(?:\{[^\n]*\n)*tandem: [^\n]*EMFILE[^\n]*: more files are needed [^\n]*LimitNOFILE=[^\n]*\n$/,
      );
      assert.equal(stderr.split('LimitNOFILE').length, 2);
      assert.equal(code, 1);
    }
  });
});

describe('the room for connections', () => {
  test('is what is left beside files, threads and what they load', () => {
    for (let limit = 32; limit <= 65_536; limit *= 2) {
      for (const threads of [0, 1, 2, 4, 16, 64]) {
        const { connections, neededLimit } = roomFor(10_000, { limit, open: 30 }, threads);
        assert.ok(connections >= 1 && connections <= 10_000);
        assert.ok(connections === 1 || connections + 30 < limit);
        // With the limit that is named all of them fit, with one less not.
        const enough = roomFor(10_000, { limit: neededLimit, open: 30 }, threads);
        assert.equal(enough.connections, 10_000);
        const few = roomFor(10_000, { limit: neededLimit - 1, open: 30 }, threads);
        assert.equal(openFilesNote(10_000, neededLimit, enough), undefined);
        assert.ok(few.connections === 9999 || threads * 72 > 7500, `${few.connections}`);
      }
    }
  });

  test('is advice for an error of too many open files, once', () => {
    const advised = openFilesAdvice('EMFILE: too many open files');
    assert.match(advised, /LimitNOFILE/);
    assert.equal(openFilesAdvice(advised), advised);
    assert.equal(openFilesAdvice('EMFILED'), 'EMFILED');
  });
});
