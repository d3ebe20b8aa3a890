import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { connect } from 'nats';
import { fixture, startCli, startModule } from '../cli/process.ts';
import { describeNats, NatsServer } from './server.ts';

describe('a process that waits for its NATS', () => {
  for (const supervisor of [[], ['--no-supervisor']]) {
    test(`ends at a signal: ${supervisor.join() || 'supervised'}`, async (t) => {
      // Takes connections, and says nothing.
      const silent = createServer().listen(0, '127.0.0.1');
      t.after(() => silent.close());
      await once(silent, 'listening');
      const { port } = silent.address() as AddressInfo;
      const servers = `nats://127.0.0.1:${port}`;
      const gateway = startCli(['gateway', '--nats', servers, '--port', '0', ...supervisor]);
      t.after(() => gateway.child.kill('SIGKILL'));
      const [socket] = await once(silent, 'connection');
      t.after(() => socket.destroy());
      gateway.child.kill('SIGTERM');
      const { code, stderr } = await gateway.exit;
      assert.equal(code, 0, stderr);
    });
  }
});

describeNats('a member without HTTP', () => {
  for (const supervisor of [[], ['--no-supervisor']]) {
    test(`listens nowhere, and serves over NATS: ${supervisor.join() || 'supervised'}`, async (t) => {
      const nats = await NatsServer.start();
      t.after(() => nats.close());
      const few = ['--workers', '1', '--spare-workers', '0', '--no-http'];
      const cluster = ['--nats', nats.url, '--service', 'shop'];
      const member = startCli([
        'serve',
        fixture('cli/procedures.ts'),
        ...few,
        ...cluster,
        ...supervisor,
        // Nobody may listen there: it would be a mistake at start.
        '--port',
        String(nats.port),
      ]);
      t.after(() => member.child.kill('SIGKILL'));
      await member.seen('stderr', /tandem \S+ serves shop over NATS \(no HTTP, /);
      const client = await connect({ servers: nats.url });
      t.after(() => client.close());
      const answer = await client.request('shop.call.math.add', '{"a":1,"b":2}', {
        timeout: 60_000,
      });
      assert.equal(answer.string(), '3');
      member.child.kill('SIGTERM');
      const { code, stderr } = await member.exit;
      assert.equal(code, 0);
      assert.doesNotMatch(stderr, /http:/);
    });
  }
});

/** The user may subscribe to anything else. */
function denying(subject: string): string {
  return `authorization { users: [{ user: a, password: b, permissions: { subscribe: { deny: "${subject}" } } }] }`;
}

describeNats('a process whose subscription the server denies', () => {
  for (const [role, subject] of [
    ['gateway', 'tandem.g.>'],
    ['member', 'tandem.m.>'],
    ['both', 'tandem.g.>'],
  ] as const) {
    test(`says so in one line, and ends by itself: ${role}, ${subject}`, async (t) => {
      const server = await NatsServer.start({ config: denying(subject) });
      t.after(() => server.close());
      const url = server.url.replace('//', '//a:b@');
      const running = startModule('test/fixtures/cluster/denied.ts', [url, role]);
      t.after(() => running.child.kill('SIGKILL'));
      const { code, stdout } = await running.exit;
      const [line = '', ...more] = stdout.trimEnd().split('\n');
      assert.match(
        line,
        /^StartupError: nats: the server does not let this client subscribe to tandem\.[gm]\.\S+: allow it/,
      );
      assert.deepEqual(more, ['closed']);
      assert.equal(code, 0);
    });
  }
});
