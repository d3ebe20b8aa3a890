import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { startCli } from '../cli/process.ts';

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
