import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import { Router } from '../../src/index.ts';
import { json, post, type RawClient, rpc } from '../http/raw-client.ts';
import { RawSocket } from '../http/socket/raw-socket.ts';
import { servers } from '../servers.ts';
import { serve } from './hooks/serve.ts';

/** A server that listens on `::` takes IPv4 callers too: the system gives it their addresses mapped to IPv6. */

const hasIpv6 = Object.values(networkInterfaces()).some((some) =>
  some?.some(({ address }) => address === '::1'),
);

function router(): Router {
  const made = new Router();
  made.rpc({ name: 'who', placement: 'inline' }, (_params, { auth }) => auth);
  return made;
}

for (const carrier of servers) {
  describe(`IPv4 callers of a server on :: over ${carrier}`, () => {
    const skip = hasIpv6 ? false : 'no IPv6 here';

    test('have their IPv4 address as remoteAddress', { skip }, async (t) => {
      const { client } = await serve(t, carrier, {
        router: router(),
        host: '::',
        authenticate: ({ remoteAddress }) => remoteAddress,
      });
      assert.equal(json(await client('127.0.0.2').ask(post(rpc('who')))).result, '127.0.0.2');
    });

    test('share maxConnections by their IPv4 addresses', { skip }, async (t) => {
      const { client } = await serve(t, carrier, {
        router: router(),
        host: '::',
        maxConnections: 100,
      });
      const isAnswered = (one: RawClient): Promise<boolean> =>
        one.ask(post(rpc('who'))).then(
          () => true,
          () => false,
        );
      const greedy: boolean[] = [];
      // WebSockets: a connection that is idle would make room.
      for (let i = 0; i < 120; i++) {
        greedy.push(
          await RawSocket.open(client('127.0.0.2')).then(
            () => true,
            () => false,
          ),
        );
      }
      assert.equal(greedy.lastIndexOf(true), 89);
      const modest: boolean[] = [];
      for (let i = 0; i < 5; i++) modest.push(await isAnswered(client('127.0.0.3')));
      assert.deepEqual(modest, Array(5).fill(true));
    });
  });
}
