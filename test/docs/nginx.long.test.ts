/** The configuration of docs/recipes/nginx.md in a real nginx, with a service behind it as the page starts it. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { Running, startCli } from '../cli/process.ts';
import { describeWith } from '../describe-with.ts';
import { moduleUrl, temporaryFolder } from '../files.ts';
import { randomOf } from '../jsonrpc/bodies.ts';
import { findProgram } from '../programs.ts';
import { seed } from '../seed.ts';
import { needs } from '../servers.ts';
import { until } from '../turns.ts';
import { parseStory } from './guide/story.ts';
import { read } from './pages.ts';

const program = 'needs nginx: apt-get install --no-install-recommends nginx-light';
const host = 'api.example.com';
/** Another address of this machine than that of the proxy. */
const callersAddress = '127.0.0.2';

const steps = parseStory(read('docs/recipes/nginx.md'));
const config = steps.find((step) => step.kind === 'file' && step.name === 'rpc.conf');
const [command = ''] = steps.flatMap((step) =>
  step.kind === 'command' && step.line.includes('tandem serve') ? step.line : [],
);
/** The options of the page. */
const options = command.split(' ').slice(command.split(' ').indexOf('service.ts') + 1);

const service = `
import { Router, Type } from '${moduleUrl('src/index.ts')}';

const router = new Router();
let release = () => {};
const released = new Promise((resolve) => { release = resolve; });
router.rpc({ name: 'pid', placement: 'inline' }, () => process.pid);
router.rpc({ name: 'whereFrom', placement: 'inline' }, (_params, { remoteAddress }) => remoteAddress);
router.rpc({ name: 'size', params: { text: Type.String() } }, ({ text }) => text.length);
router.rpc({ name: 'release', placement: 'inline' }, () => release());
router.rpc({ name: 'two', yields: Type.Integer() }, async function* () {
  yield 1;
  await released;
  yield 2;
});
export default router;
`;

/** A folder that the processes of nginx, which are another user's, may enter. */
function openFolder(t: TestContext): string {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  return folder;
}

let nextPort = 20_000 + ((process.pid * 37) % 12_000);

describeWith(findProgram('nginx'), program, 'nginx as the recipe sets it up', (nginx) => {
  /**
   * @param idle how long it keeps idle connections to the service
   * @returns the port at which it listens
   */
  async function startNginx(
    t: TestContext,
    folder: string,
    upstream: string,
    idle = '8s',
  ): Promise<number> {
    assert.ok(config?.kind === 'file' && config.text.includes('server 127.0.0.1:8000;'));
    assert.ok(config.text.includes('listen 80;'));
    assert.ok(config.text.includes('keepalive_timeout 8s;'));
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(' ');
    // As root, nginx would become a user that may not connect to a socket of this one.
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    writeFileSync(
      join(folder, 'nginx.conf'),
      `${user} daemon off; pid ${folder}/pid; error_log stderr notice; events {}\nhttp { access_log off; ${temporary}\ninclude ${folder}/rpc.conf; }\n`,
    );
    const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'];
    for (let tries = 0; ; tries++) {
      const port = nextPort++;
      const text = config.text
        .replace('server 127.0.0.1:8000;', `server ${upstream};`)
        .replace('keepalive_timeout 8s;', `keepalive_timeout ${idle};`)
        .replace('listen 80;', `listen 127.0.0.1:${port};`);
      writeFileSync(join(folder, 'rpc.conf'), text);
      const checked = spawnSync(nginx, ['-t', ...args], { encoding: 'utf8' });
      // It takes the port for a moment.
      if (tries < 20 && checked.stderr.includes('Address already in use')) continue;
      assert.equal(checked.status, 0, checked.stderr);
      assert.doesNotMatch(checked.stderr, /\[(?:warn|error|emerg)\]/);
      const running = new Running(spawn(nginx, args));
      t.after(async () => {
        running.child.kill('SIGTERM');
        await running.exit;
      });
      const [line] = await running.seen('stderr', /start worker process \d|Address already in use/);
      if (line.startsWith('start')) return port;
      assert.ok(tries < 20, running.stderr);
      // It tries again for 2.5 s, and may get the port.
      running.child.kill('SIGTERM');
      await running.exit;
    }
  }

  async function startService(t: TestContext, folder: string, args: readonly string[]) {
    const module = join(folder, 'service.mjs');
    writeFileSync(module, service);
    const few = ['--workers', '1', '--spare-workers', '0'];
    const running = startCli(['serve', module, ...few, ...args]);
    t.after(async () => {
      running.child.kill('SIGTERM');
      await running.exit;
    });
    return running;
  }

  const ask = async (
    port: number,
    call: object,
    headers: Readonly<Record<string, string>> = {},
    path = '/rpc',
  ): Promise<IncomingMessage> => {
    const sent = request({
      port,
      path,
      host: '127.0.0.1',
      localAddress: callersAddress,
      method: 'POST',
      agent: false,
      headers: { host, 'content-type': 'application/json', ...headers },
    });
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }));
    const [reply] = (await once(sent, 'response')) as [IncomingMessage];
    return reply.setEncoding('utf8');
  };

  const resultOf = async (reply: Promise<IncomingMessage>): Promise<unknown> => {
    let text = '';
    for await (const part of await reply) text += part;
    return JSON.parse(text).result;
  };

  async function assertServes(port: number): Promise<void> {
    const where = { method: 'whereFrom' };
    assert.equal(await resultOf(ask(port, where)), callersAddress);
    // What a caller says of itself is not passed on.
    const forged = { 'x-forwarded-for': '203.0.113.9' };
    assert.equal(await resultOf(ask(port, where, forged)), callersAddress);

    const text = 'x'.repeat(5_000_000);
    assert.equal(await resultOf(ask(port, { method: 'size', params: { text } })), text.length);
    const foreign = await ask(port, where, { host: 'evil.example' });
    assert.equal(foreign.resume().statusCode, 403);
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const hidden = await ask(port, where, {}, path);
      assert.equal(hidden.resume().statusCode, 404);
    }
  }

  /** The second value comes only when the first one was read and answered by a call. */
  async function assertStreams(port: number): Promise<void> {
    const reply = await ask(port, { method: 'two' }, { accept: 'text/event-stream' });
    let text = '';
    for await (const part of reply) {
      text += part;
      if (text.includes('"result":1}')) await resultOf(ask(port, { method: 'release' }));
    }
    assert.match(text, /"result":1\}.*"result":2\}/s);
  }

  async function assertSockets(port: number): Promise<void> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/rpc`, {
      headers: { host },
      localAddress: callersAddress,
    });
    await once(socket, 'open');
    socket.send('{"jsonrpc":"2.0","id":7,"method":"whereFrom"}');
    const [message] = (await once(socket, 'message')) as [Buffer];
    assert.equal(message.toString(), `{"jsonrpc":"2.0","id":7,"result":"${callersAddress}"}`);
    socket.close();
    await once(socket, 'close');
  }

  test('calls, large bodies, event streams and WebSockets pass, with the address of the caller', async (t) => {
    const folder = openFolder(t);
    const running = await startService(t, folder, [...options, '--port', '0']);
    const [, port = ''] = await running.seen('stderr', /listens on http:\/\/127\.0\.0\.1:(\d+)/);
    const front = await startNginx(t, folder, `127.0.0.1:${port}`);
    await assertServes(front);
    await assertStreams(front);
    await assertSockets(front);
  });

  /** The options of the page, for a Unix socket. */
  const socketOptions = (socket: string): string[] => {
    const where = ['--socket', socket, '--socket-mode', '660'];
    return [...where, '--trusted-proxies', 'unix', '--allowed-hosts', host];
  };

  test('the same with a Unix socket between them', async (t) => {
    const folder = openFolder(t);
    const socket = join(folder, 'rpc.sock');
    const running = await startService(t, folder, socketOptions(socket));
    await running.seen('stderr', /listens on http\+unix:/);
    const front = await startNginx(t, folder, `unix:${socket}`);
    await assertServes(front);
    await assertStreams(front);
    await assertSockets(front);
  });

  test('a POST whose kept connection breaks is not sent again: it may have run', async (t) => {
    let posts = 0;
    const upstream = createServer((socket) => {
      let isSecond = false;
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        if (!bytes.toString('latin1').startsWith('POST')) return;
        posts++;
        if (isSecond) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
        isSecond = true;
      });
    });
    await once(upstream.listen(0, '127.0.0.1'), 'listening');
    t.after(() => upstream.close());
    const { port } = upstream.address() as AddressInfo;
    const front = await startNginx(t, openFolder(t), `127.0.0.1:${port}`);
    const statuses: (number | undefined)[] = [];
    for (let call = 0; call < 2; call++) {
      const reply = await ask(front, { method: 'whereFrom' });
      statuses.push(reply.statusCode);
      await once(reply.resume(), 'end');
    }
    assert.deepEqual(statuses, [200, 502]);
    assert.equal(posts, 2);
  });

  for (const server of ['uws', 'node'] as const) {
    const transport = ['--transport', server];

    test(
      `2000 calls around the end of idle connections are answered: ${server}`,
      needs(server),
      async (t) => {
        const folder = openFolder(t);
        const running = await startService(t, folder, [...options, '--port', '0', ...transport]);
        const [, port = ''] = await running.seen(
          'stderr',
          /listens on http:\/\/127\.0\.0\.1:(\d+)/,
        );
        const front = await startNginx(t, folder, `127.0.0.1:${port}`, '500ms');
        const random = randomOf(seed);
        const caller = async (): Promise<void> => {
          for (let call = 0; call < 20; call++) {
            assert.equal(await resultOf(ask(front, { method: 'whereFrom' })), callersAddress);
            await pause(450 + random(100));
          }
        };
        await Promise.all(Array.from({ length: 100 }, caller));
      },
    );

    test(`no call is lost when the process is replaced: ${server}`, needs(server), async (t) => {
      const folder = openFolder(t);
      const socket = join(folder, 'rpc.sock');
      const args = [...socketOptions(socket), ...transport];
      const running = await startService(t, folder, args);
      await running.seen('stderr', /listens on http\+unix:/);
      const front = await startNginx(t, folder, `unix:${socket}`);
      const where = () => resultOf(ask(front, { method: 'pid' }));
      const before = await where();
      let called = 0;
      const caller = async (): Promise<void> => {
        while ((await where()) === before) called++;
      };
      const callers = Promise.all(Array.from({ length: 16 }, caller));
      await Promise.race([callers, until(() => called > 100)]);
      running.child.kill('SIGUSR2');
      await callers;
      assert.notEqual(await where(), before);
    });
  }
});
