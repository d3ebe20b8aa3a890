import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { StartupError } from '../../src/index.ts';
import { temporaryFolder } from '../files.ts';
import { makeCertificate } from '../http/certificate.ts';
import { connected, refusal } from './connected.ts';
import { makeNkey, makeOperator } from './credentials.ts';
import { describeNats, NatsServer } from './server.ts';

function serverOf(t: TestContext, config = ''): Promise<NatsServer> {
  return NatsServer.startFor(t, { config });
}

function fileOf(t: TestContext, content: string): string {
  const path = join(temporaryFolder(t), 'file');
  writeFileSync(path, content);
  return path;
}

/** The URL with what stands in front of its host. */
function as(server: NatsServer, credentials: string): string {
  return server.url.replace('//', `//${credentials}@`);
}

describeNats('logging in to NATS', () => {
  test('by a name and a password in the URL', async (t) => {
    const server = await serverOf(t, 'authorization { user: "an", password: "p@ss%" }');
    const { connection } = await connected(t, as(server, 'an:p%40ss%25'));
    await connection.flush();
    const wrong = await refusal(as(server, 'an:other'));
    assert.match(wrong, /^nats: 127\.0\.0\.1:\d+ does not let this client in .*check the name and/);
    assert.doesNotMatch(wrong, /other/);
    assert.match(await refusal(server.url), /does not let this client in/);
    assert.match(await refusal(as(server, 'an:p%ss')), /%25/);
  });

  test('by a token in the URL', async (t) => {
    const server = await serverOf(t, 'authorization { token: "secret" }');
    const { connection } = await connected(t, as(server, 'secret'));
    await connection.flush();
    assert.match(await refusal(as(server, 'other')), /does not let this client in/);
  });

  test('by an nkey, with a line feed behind it or without', async (t) => {
    const key = makeNkey();
    const server = await serverOf(t, `authorization { users: [{ nkey: ${key.name} }] }`);
    for (const text of [key.seed, `${key.seed}\n`]) {
      const { connection } = await connected(t, server.url, { natsNkey: fileOf(t, text) });
      await connection.flush();
    }
    const other = fileOf(t, makeNkey().seed);
    assert.match(await refusal(server.url, { natsNkey: other }), /does not let this client in/);
    const none = fileOf(t, 'hello');
    assert.match(
      await refusal(server.url, { natsNkey: none }),
      /^option natsNkey: .* no credentials of NATS/,
    );
    assert.match(
      await refusal(server.url, { natsNkey: `${none}-gone` }),
      /^option natsNkey: ENOENT.*gone/,
    );
    assert.match(
      await refusal(as(server, 'a:b'), { natsNkey: other }),
      /^option natsNkey: the URL/,
    );
  });

  test('by an nkey that was replaced while the server was away', async (t) => {
    const [first, second] = [makeNkey(), makeNkey()];
    const configOf = ({ name }: { readonly name: string }): string =>
      `authorization { users: [{ nkey: ${name} }] }`;
    const server = await serverOf(t, configOf(first));
    const path = fileOf(t, first.seed);
    const { connection } = await connected(t, server.url, { natsNkey: path });
    const back = new Promise<void>((resolve) => {
      connection.onState((state) => state === 'reconnected' && resolve());
    });
    await server.kill();
    writeFileSync(path, second.seed);
    await server.restart(configOf(second));
    await back;
    await connection.flush();
  });

  test('by a credentials file', async (t) => {
    const { config, creds } = makeOperator();
    const server = await serverOf(t, config);
    const { connection } = await connected(t, server.url, { natsCreds: fileOf(t, creds) });
    await connection.flush();
    assert.match(await refusal(server.url), /does not let this client in/);
    assert.match(
      await refusal(server.url, { natsCreds: fileOf(t, 'nothing') }),
      /^option natsCreds: .* no credentials of NATS/,
    );
  });

  test('over TLS, where the certificate is trusted', async (t) => {
    const { certPath, keyPath } = await makeCertificate(t);
    const tls = `tls { cert_file: "${certPath}", key_file: "${keyPath}" }`;
    const server = await serverOf(t, tls);
    const url = server.url.replace('nats:', 'tls:');
    for (const given of [url, server.url]) {
      const { connection } = await connected(t, given, { natsCa: certPath });
      await connection.flush();
    }
    assert.match(await refusal(url), /^nats: no TLS with 127.* check natsCa/);
    const plain = await serverOf(t);
    assert.match(
      await refusal(plain.url.replace('nats:', 'tls:')),
      /speaks no TLS: write nats:\/\//,
    );
    assert.match(await refusal(plain.url, { natsCa: certPath }), /speaks no TLS/);
    assert.match(await refusal(url, { natsCa: '/none/ca.pem' }), /^option natsCa: ENOENT/);
  });

  test('with a certificate of its own, where the server asks for one', async (t) => {
    const { certPath, keyPath } = await makeCertificate(t);
    const server = await serverOf(
      t,
      `tls { cert_file: "${certPath}", key_file: "${keyPath}", ca_file: "${certPath}", verify: true }`,
    );
    const { connection } = await connected(t, server.url, {
      natsCa: certPath,
      natsCert: certPath,
      natsKey: keyPath,
    });
    await connection.flush();
    const without = await refusal(server.url, { natsCa: certPath, startTimeoutMs: 300 });
    assert.match(without, /^nats: /);
  });

  test('is told what its user may not do', async (t) => {
    const server = await serverOf(
      t,
      'authorization { users: [{ user: a, password: b, permissions: { publish: "open.>", subscribe: "open.>" } }] }',
    );
    const { connection, events } = await connected(t, as(server, 'a:b'));
    const taken: string[] = [];
    connection.subscribe('open.x', ({ subject }) => taken.push(subject));
    await connection.confirm();
    connection.subscribe('secret.x', () => {});
    connection.subscribe('secret.y', () => {}, { queue: 'q' });
    await assert.rejects(connection.confirm(), (error) => {
      assert.ok(error instanceof StartupError);
      assert.match(
        error.message,
        /does not let this client subscribe to secret\.x and 1 more: allow it/,
      );
      return true;
    });
    for (let i = 0; i < 3; i++) connection.publish('secret.z', '');
    connection.publish('open.x', '');
    await connection.flush();
    // The client tells of one thing after another, in microtasks.
    await setImmediate();
    assert.deepEqual(taken, ['open.x']);
    assert.deepEqual(events.told, [
      'denied subscription secret.x',
      'denied subscription secret.y',
      'denied publish secret.z',
    ]);
  });

  test('waits for a server that starts late', async (t) => {
    const server = await serverOf(t);
    await server.kill();
    const connecting = connected(t, server.url);
    await server.restart();
    await (await connecting).connection.flush();
  });

  test('says that there is no server', async (t) => {
    const server = await serverOf(t);
    await server.kill();
    assert.match(
      await refusal(server.url, { startTimeoutMs: 150 }),
      /^nats: no server answered at 127\.0\.0\.1:\d+ within 150 ms \(connection refused\): start/,
    );
    assert.match(
      await refusal('nats://nobody.invalid:4222', { startTimeoutMs: 150 }),
      /no server answered at nobody\.invalid:4222 within 150 ms/,
    );
  });

  test('says that something else answers', async (t) => {
    const other = createServer((socket) => {
      socket.on('error', () => {});
      socket.end('220 mail.example.com ESMTP\r\n');
    });
    t.after(() => other.close());
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const { port } = other.address() as AddressInfo;
    assert.match(await refusal(`127.0.0.1:${port}`), /is no NATS server: check the port/);
  });

  test('takes one of several servers, which share their users', async (t) => {
    const server = await serverOf(t, 'authorization { user: a, password: b }');
    const down = await serverOf(t);
    await down.kill();
    const { connection } = await connected(t, '', {
      nats: [as(down, 'a:b'), as(server, 'a:b')],
    });
    await connection.flush();
    assert.match(
      await refusal('', { nats: [as(down, 'a:c'), as(server, 'a:b')] }),
      /share their users/,
    );
  });
});
