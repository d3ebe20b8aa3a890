import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from 'nats';
import { fixture, startCli } from '../cli/process.ts';
import { describeNats, NatsServer } from './server.ts';

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
      const [banner] = await member.seen('stdout', /^tandem .+ over NATS \(no HTTP, .+\n/m);
      assert.match(banner, /serves shop over NATS/);
      const client = await connect({ servers: nats.url });
      t.after(() => client.close());
      const answer = await client.request('shop.call.math.add', '{"a":1,"b":2}', {
        timeout: 60_000,
      });
      assert.equal(answer.string(), '3');
      member.child.kill('SIGTERM');
      const { code, stdout } = await member.exit;
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /curl|http:/);
    });
  }
});
