import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { hasTerminal } from '../../cli/process.ts';
import { Exposition } from '../../observe/exposition.ts';
import { needs } from '../../servers.ts';
import { CompiledCli, endWith, service } from './cli.ts';
import { call, where } from './load.ts';

const cli = await CompiledCli.suite();

/** Of all processes, whichever answers. */
async function lostOutput(url: string): Promise<number> {
  const response = await fetch(new URL('/metrics', url));
  return new Exposition(await response.text()).value('tandem_output_lost_total');
}

const kinds: readonly [what: string, args: readonly string[]][] = [
  ['supervised', []],
  ['in two processes', ['--processes', '2']],
  ['without a supervisor', ['--no-supervisor']],
];

describe('a service whose output nobody reads any more', () => {
  for (const [what, args] of kinds) {
    test(
      `goes on, ${what}: lines are lost and counted`,
      needs(args.includes('--processes') ? 'uws' : 'node'),
      async (t) => {
        const { server, url } = await cli.serveFor(t, [service, '--access-log', ...args]);
        const pid = await where(url);
        // What `| head -1` does once it has its line.
        server.child.stdout?.destroy();
        server.child.stderr?.destroy();
        const before = await lostOutput(url);
        for (const name of ['say.inline', 'say.pooled', 'say.inline', 'say.pooled']) {
          assert.equal(await call(url, name, {}), 1);
        }
        // A worker's lines go through its main thread, later than its reply.
        while ((await lostOutput(url)) < before + 8);
        if (args.length !== 2) assert.equal(await where(url), pid);
        server.child.kill('SIGTERM');
        const [code] = (await once(server.child, 'exit')) as [number | null];
        assert.equal(code, 0);
      },
    );
  }

  test('goes on beside a reader that stands still, and keeps no more than a little of it', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, '--access-log']);
    const pid = await where(url);
    server.child.stdout?.pause();
    server.child.stderr?.pause();
    const before = await call(url, 'memory', {});
    // 200 MB on each stream, of both places.
    for (let i = 0; i < 100; i++) {
      for (const name of ['say.inline', 'say.pooled']) await call(url, name, { lines: 1000 });
    }
    assert.ok((await lostOutput(url)) > 0);
    const grown = (Number(await call(url, 'memory', {})) - Number(before)) / 1024 ** 2;
    // Kept output would be twice as much. What is not collected yet has come to 106 MB.
    assert.ok(grown < 200, `${grown} MB more`);
    assert.equal(await where(url), pid);
    server.child.stdout?.resume();
    server.child.stderr?.resume();
    await server.seen('stderr', /"event":"call","method":"where"/);
  });

  test('goes on with a log on a full disk', { skip: !hasTerminal }, async (t) => {
    // The banner tells the address: it needs a terminal.
    const server = cli.runOnTerminal([service, '--port', '0', '--access-log'], '2> /dev/full');
    endWith(t, server);
    const [, url = ''] = await server.seen('stdout', /listens on (http:\S+) /);
    const pid = await where(url);
    assert.equal(await call(url, 'say.inline', {}), 1);
    assert.equal(await call(url, 'say.pooled', {}), 1);
    while ((await lostOutput(url)) < 4);
    assert.equal(await where(url), pid);
  });
});
