import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { startCli, startModule } from '../cli/process.ts';
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
      const server = await NatsServer.startFor(t, { config: denying(subject) });
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
