import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CompiledCli, endWith, service } from './cli.ts';

const cli = CompiledCli.suite();

const free = ['--port', '0'];
const pair = ['--processes', '2'];

describe('a service that can not start ends with one line', () => {
  const mistakes: readonly [what: string, args: readonly string[], says: RegExp, code: number][] = [
    [
      'several processes without a supervisor',
      [service, ...free, ...pair, '--no-supervisor'],
      /option processes \(2\) needs the supervisor/,
      1,
    ],
    [
      'several processes on node:http',
      [service, ...free, ...pair, '--transport', 'node'],
      /option processes: transport node does not share a port/,
      1,
    ],
    ['a module that is not there', ['./none.mjs', ...free, ...pair], /none\.mjs/, 1],
    [
      'a module that ends the process',
      [service, ...free, ...pair],
      /a server process ended with exit code 7 before it was ready/,
      1,
    ],
    [
      'a module that never ends loading',
      ['<endless>', ...free, '--start-timeout', '100ms'],
      /it was not ready after 200 ms/,
      1,
    ],
    [
      'hooks that never end loading',
      [service, ...free, '--hooks', '<endless>', '--start-timeout', '100ms'],
      /it was not ready after 200 ms/,
      1,
    ],
    [
      'a host that is not here',
      [service, '--host', '192.0.2.1', ...pair],
      /no address 192\.0\.2\.1/,
      1,
    ],
  ];
  for (const [what, args, says, expected] of mistakes) {
    test(what, async (t) => {
      const broken = join(cli.folder, 'broken-at-start');
      writeFileSync(broken, '');
      const endless = join(cli.folder, 'endless.mjs');
      writeFileSync(endless, 'setInterval(() => {}, 1000);\nawait new Promise(() => {});\n');
      const server = cli.run(
        args.map((arg) => (arg === '<endless>' ? endless : arg)),
        what.includes('ends the process') ? { BROKEN: broken } : {},
      );
      endWith(t, server);
      const { code, stdout, stderr } = await server.exit;
      assert.match(stderr, /^tandem: [^\n]+\n$/);
      assert.match(stderr, says);
      assert.equal(stdout, '');
      assert.equal(code, expected);
    });
  }

  test('without a supervisor: modules or hooks that never end loading', async (t) => {
    const waits = join(cli.folder, 'waits.mjs');
    // Nothing but the limit keeps the process there.
    writeFileSync(waits, 'await new Promise(() => {});\n');
    for (const args of [[waits], [service, '--hooks', waits]]) {
      const alone = ['--no-supervisor', '--start-timeout', '100ms'];
      const server = cli.run([...args, ...free, ...alone]);
      endWith(t, server);
      const { code, stdout, stderr } = await server.exit;
      const told = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
      assert.equal(told.length, 1, stderr);
      assert.match(told[0] ?? '', /^tandem: not ready after 200 ms: /);
      assert.equal(stdout, '');
      assert.equal(code, 1);
    }
  });

  test('a port that another service has, shared or not', async (t) => {
    const alone = ['--no-supervisor'];
    for (const [args, rivals] of [
      [[], [[], alone]],
      [pair, [pair]],
    ] as const) {
      const { server: first, url } = await cli.serve([...free, ...args]);
      endWith(t, first);
      const { port } = new URL(url);
      for (const others of rivals) {
        const second = cli.run([service, '--port', port, ...others]);
        endWith(t, second);
        const { code, stdout, stderr } = await second.exit;
        const told = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
        assert.equal(told.length, 1, stderr);
        assert.match(told[0] ?? '', /^tandem: port \d+ on 127\.0\.0\.1 is in use: /);
        assert.equal(stdout, '');
        assert.equal(code, 1);
      }
      first.child.kill('SIGTERM');
      assert.equal((await first.exit).code, 0);
    }
  });
});
