import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { connect as connectSecurely } from 'node:tls';
import { RpcApp } from '../../src/index.ts';
import { procedures } from '../app/hooks/serve.ts';
import { startApp } from '../harness.ts';
import { refusalOf } from '../refusal.ts';
import { servers } from '../servers.ts';
import { turns } from '../turns.ts';
import { makeCertificate } from './certificate.ts';
import { header, json, post, RawClient, request, rpc } from './raw-client.ts';
import { RawSocket } from './socket/raw-socket.ts';
import { starter } from './stub-server.ts';

const certificate = await makeCertificate({ after });
const { keyPath, certPath, cert, key, folder } = certificate;
const tls = { tlsKey: keyPath, tlsCert: certPath };

for (const transport of servers) {
  describe(`https on ${transport}`, () => {
    const start = starter(transport, certificate);

    test('the url says https, the document is served', async (t) => {
      const { server, client } = await start(t);
      assert.match(server.address.url, /^https:\/\/127\.0\.0\.1:\d+\/rpc$/);
      assert.equal((await client().ask(request('GET', '/rpc'))).status, 200);
    });

    test('WebSockets are served: large answers whole, to a slow client too, and their end told', async (t) => {
      const { client, server, service } = await start(t);
      const socket = await RawSocket.open(client());
      assert.equal(await socket.ask(rpc('echo', 'é')), '{"jsonrpc":"2.0","id":1,"result":"é"}');
      socket.client.socket.pause();
      for (let id = 0; id < 12; id++) await socket.send(rpc('large', 1_000_000, id));
      while (service.scopes.length < 13) await turns();
      assert.ok(service.replyMemory.stats().waiting > 0);
      socket.client.socket.resume();
      for (let id = 0; id < 12; id++) {
        const reply = JSON.parse(await socket.receive());
        assert.deepEqual([reply.id, reply.result.length], [id, 1_000_000]);
      }
      const closing = server.close();
      assert.equal(await socket.closeCode(), 1012);
      await closing;
    });

    test('an upgrade to h2c is ignored, and its request served', async (t) => {
      const { client } = await start(t);
      const one = client();
      for (let i = 0; i < 2; i++) {
        const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' };
        assert.equal(json(await one.ask(post(rpc('echo', 'é'), headers))).result, 'é');
      }
    });

    test('a client that speaks plain HTTP is closed, and others go on', async (t) => {
      const { client, port, service } = await start(t);
      const plain = new RawClient(port);
      await plain.write(post(rpc('echo')));
      await plain.untilClosed();
      assert.doesNotMatch(plain.received.toString('latin1'), /jsonrpc/);
      assert.equal(service.bodies.length, 0);
      assert.equal((await client().ask(post(rpc('echo')))).status, 200);
    });

    test('TLS 1.1 is refused, 1.2 and 1.3 are taken', async (t) => {
      const { port } = await start(t);
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        const range = { minVersion: version, maxVersion: version };
        const socket = connectSecurely({ port, host: '127.0.0.1', ca: cert, ...range });
        await once(socket, 'secureConnect');
        assert.equal(socket.getProtocol(), version);
        assert.equal(socket.authorized, true);
        socket.destroy();
      }
      const socket = connectSecurely({
        port,
        host: '127.0.0.1',
        ca: cert,
        minVersion: 'TLSv1.1',
        maxVersion: 'TLSv1.1',
        // Without it this side refuses to offer it.
        ciphers: 'DEFAULT@SECLEVEL=0',
      });
      const [error] = (await once(socket, 'error')) as [Error];
      assert.match(error.message, /alert|protocol version/i);
    });

    test('a connection that never ends its handshake counts, and makes room when it goes', async (t) => {
      const { client, port, server, service } = await start(t, { maxConnections: 2 });
      const silent = connect({ port, host: '127.0.0.1' });
      await once(silent, 'connect');
      const one = client();
      await one.write(post(rpc('later')));
      await service.entered(1);
      const third = client();
      await third.untilClosed();
      silent.destroy();
      service.held[0]?.release();
      await one.response();
      while (server.connections > 1) await turns();
      assert.equal((await client().ask(post(rpc('echo')))).status, 200);
    });

    test('what was accepted is answered while it closes', async (t) => {
      const { client, server, service } = await start(t);
      const one = client();
      await one.write(post(rpc('later', 'x')));
      await service.entered(1);
      const closing = server.close();
      await turns();
      service.held[0]?.release();
      const reply = await one.response();
      assert.equal(json(reply).result, 'x');
      assert.equal(header(reply, 'connection')?.toLowerCase(), 'close');
      await closing;
    });

    test('a certificate that has expired is served, with a warning', async (t) => {
      const old = await makeCertificate(t, {
        from: new Date('2001-01-01'),
        to: new Date('2002-01-01'),
      });
      const warnings: string[] = [];
      const { server } = await starter(transport, old)(t, {
        warn: (message) => warnings.push(message),
      });
      assert.match(server.address.url, /^https:/);
      assert.equal(warnings.length, 1);
      assert.match(
        warnings[0] ?? '',
        /tls: the certificate in .* has expired: it was valid to .*2002/,
      );
    });

    test('an app serves with it before and after a reload', async (t) => {
      const { app, port, url } = await startApp(t, { modules: [procedures], transport, ...tls });
      assert.match(url, /^https:/);
      const one = new RawClient(port, '127.0.0.1', cert);
      t.after(() => one.destroy());
      assert.equal(json(await one.ask(post(rpc('who.worker')))).result, 'nobody');
      await app.reload();
      assert.equal(json(await one.ask(post(rpc('who.worker')))).result, 'nobody');
    });
  });
}

describe('files that can not be used for TLS are a start-up error of one line', () => {
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pkcs8 = { type: 'pkcs8', format: 'pem' } as const;
  const otherKey = file('other.pem', String(other.privateKey.export(pkcs8)));
  const encrypted = file(
    'encrypted.pem',
    String(other.privateKey.export({ ...pkcs8, cipher: 'aes-256-cbc', passphrase: 'x' })),
  );
  const text = file('text.pem', 'hello\n');
  const cut = file('cut.pem', cert.slice(0, 200));
  const der = join(folder, 'cert.der');
  writeFileSync(der, Buffer.from(cert.replace(/-----[^-]+-----|\s/g, ''), 'base64'));
  const chain = file(
    'chain.pem',
    `${cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
  );
  mkdirSync(join(folder, 'folder'));
  const unreadable = file('unreadable.pem', key);
  chmodSync(unreadable, 0);

  const noPermission = process.getuid?.() === 0 && 'root reads it';

  for (const [name, given, fault, skip = false] of [
    [
      'no key there',
      { tlsKey: join(folder, 'no.pem') },
      /^can't read .*no\.pem: there is no such file$/,
    ],
    [
      'no certificate there',
      { tlsCert: join(folder, 'no.pem') },
      /^can't read .*no\.pem: there is no such file$/,
    ],
    ['a folder', { tlsKey: join(folder, 'folder') }, /^can't read .*folder: it is a folder$/],
    [
      'a file without permission',
      { tlsKey: unreadable },
      /^can't read .*: no permission to read it$/,
      noPermission,
    ],
    ['text for a key', { tlsKey: text }, /text\.pem holds no private key in PEM form$/],
    ['the certificate for a key', { tlsKey: certPath }, / holds no private key in PEM form$/],
    ['text for a certificate', { tlsCert: text }, /text\.pem holds no certificate in PEM form$/],
    ['the key for a certificate', { tlsCert: keyPath }, / holds no certificate in PEM form$/],
    ['a certificate cut off', { tlsCert: cut }, / holds no certificate in PEM form$/],
    ['a binary certificate', { tlsCert: der }, /cert\.der holds no certificate in PEM form$/],
    ['a broken chain', { tlsCert: chain }, /chain\.pem can't be used: /],
    ['an encrypted key', { tlsKey: encrypted }, / is encrypted: give it without its passphrase/],
    [
      'a key of another certificate',
      { tlsKey: otherKey },
      /^the key in .*other\.pem is not that of the certificate in /,
    ],
  ] as const) {
    test(name, { skip }, async () => {
      for (const transport of servers) {
        const app = new RpcApp({
          modules: [procedures],
          port: 0,
          transport,
          ...tls,
          ...given,
          logLevel: 'silent',
        });
        const [, option, said = ''] =
          /^option (\w+): (.*)$/.exec(await refusalOf(app.listen())) ?? [];
        assert.deepEqual([option], Object.keys(given));
        assert.match(said, fault);
        await app.close();
      }
    });
  }

  for (const [given, missing] of [
    ['tlsKey', 'tlsCert'],
    ['tlsCert', 'tlsKey'],
  ] as const) {
    test(`${given} without ${missing}`, () => {
      assert.throws(() => new RpcApp({ modules: [procedures], [given]: tls[given] }), {
        name: 'StartupError',
        message: `option ${given} needs ${missing} beside it: give both, or neither`,
      });
    });
  }
});
