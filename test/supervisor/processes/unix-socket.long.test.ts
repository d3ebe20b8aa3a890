import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { urlOf } from '../../cli/process.ts';
import { post, RawClient, rpc } from '../../http/raw-client.ts';
import { servers } from '../../servers.ts';
import { CompiledCli, endWith, logged, service } from './cli.ts';

const cli = await CompiledCli.suite();

/** The process that a new connection meets. What it has not accepted when it closes its listener is reset. */
async function where(socket: string): Promise<number> {
  for (;;) {
    const client = new RawClient(socket);
    let isConnected = false;
    client.socket.once('connect', () => {
      isConnected = true;
    });
    try {
      const { body } = await client.ask(post(rpc('where')));
      return (JSON.parse(body.toString()) as { result: number }).result;
    } catch (error) {
      if (!isConnected) throw error;
    } finally {
      client.destroy();
    }
  }
}

async function serve(t: TestContext, name: string, args: readonly string[]) {
  const folder = join(cli.folder, name);
  mkdirSync(folder);
  const socket = join(folder, 'rpc.sock');
  const server = cli.run([service, '--socket', socket, ...args]);
  endWith(t, server);
  assert.equal(await urlOf(server), `http+unix://${encodeURIComponent(socket)}/rpc`);
  return { server, socket, files: () => readdirSync(folder) };
}

for (const transport of servers) {
  test(`a Unix socket on ${transport} is passed on from process to process, and gone at the end`, async (t) => {
    const { server, socket, files } = await serve(t, transport, [
      '--transport',
      transport,
      '--socket-mode',
      '660',
    ]);
    assert.equal(lstatSync(socket).mode & 0o777, 0o660);
    const first = await where(socket);

    // It leaves its file behind.
    process.kill(first, 'SIGKILL');
    await logged(server, /has taken over/, 1);
    const second = await where(socket);
    assert.notEqual(second, first);

    // The file leads somewhere at each moment: to the old one until the new one has it.
    server.child.kill('SIGUSR2');
    while ((await where(socket)) === second);
    await logged(server, /has taken over/, 2);
    assert.deepEqual(files(), ['rpc.sock']);

    server.child.kill('SIGTERM');
    assert.equal((await server.exit).code, 0);
    assert.deepEqual(files(), []);
  });
}

test('a Unix socket that another service has is refused with one line', async (t) => {
  for (const alone of [[], ['--no-supervisor']]) {
    const { socket } = await serve(t, `in-use-${alone.length}`, alone);
    const second = cli.run([service, '--socket', socket, ...alone]);
    endWith(t, second);
    const { code, stdout, stderr } = await second.exit;
    const told = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    assert.equal(told.length, 1, stderr);
    assert.match(told[0] ?? '', /^tandem: option socket: \S+rpc\.sock is in use: /);
    assert.equal(stdout, '');
    assert.equal(code, 1);
    assert.equal(typeof (await where(socket)), 'number');
  }
});
