import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startModule } from '../cli/process.ts';
import { describeNats, NatsServer } from './server.ts';

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
