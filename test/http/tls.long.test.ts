import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { procedures } from '../app/hooks/serve.ts';
import { startCli } from '../cli/process.ts';
import { servers } from '../servers.ts';
import { badRequests } from './behaviour/bad-requests.ts';
import { calls } from './behaviour/calls.ts';
import { connections } from './behaviour/connections.ts';
import { largeReplies } from './behaviour/large-replies.ts';
import { makeCertificate } from './certificate.ts';
import { json, post, RawClient, rpc } from './raw-client.ts';
import { starter } from './stub-server.ts';

const certificate = await makeCertificate({ after });
const { keyPath, certPath, cert } = certificate;

/** What touches the connection itself is different code behind TLS; the rest never sees which it is. */
for (const transport of servers) {
  describe(`https on ${transport}: what http does`, () => {
    const start = starter(transport, certificate);
    calls(start);
    badRequests(start, transport);
    connections(start, transport);
    largeReplies(start);
  });
}

describe('tandem serve with TLS', () => {
  const args = ['serve', procedures, '--port', '0', '--workers', '1'];

  test('answers over https, after SIGHUP too, and ends on SIGTERM', async () => {
    const server = startCli([...args, '--tls-key', keyPath, '--tls-cert', certPath]);
    const [, port = ''] = await server.seen(
      'stderr',
      /listens on https:\/\/127\.0\.0\.1:(\d+)\/rpc/,
    );
    const one = new RawClient(Number(port), '127.0.0.1', cert);
    assert.equal(json(await one.ask(post(rpc('who.inline')))).result, 'nobody');
    server.child.kill('SIGHUP');
    await server.seen('stderr', /nothing has changed|"reloaded"/);
    const two = new RawClient(Number(port), '127.0.0.1', cert);
    assert.equal(json(await two.ask(post(rpc('who.inline')))).result, 'nobody');
    one.destroy();
    two.destroy();
    server.child.kill('SIGTERM');
    assert.equal((await server.exit).code, 0);
  });
});
