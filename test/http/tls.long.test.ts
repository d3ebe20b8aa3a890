import { after, describe } from 'node:test';
import { servers } from '../servers.ts';
import { badRequests } from './behaviour/bad-requests.ts';
import { calls } from './behaviour/calls.ts';
import { connections } from './behaviour/connections.ts';
import { framing } from './behaviour/framing.ts';
import { largeReplies } from './behaviour/large-replies.ts';
import { makeCertificate } from './certificate.ts';
import { starter } from './stub-server.ts';

const certificate = await makeCertificate();
after(() => certificate.remove());

/** What touches the connection itself is different code behind TLS; the rest never sees which it is. */
for (const transport of servers) {
  describe(`https on ${transport}: what http does`, () => {
    const start = starter(transport, certificate);
    calls(start);
    badRequests(start, transport);
    framing(start, transport);
    connections(start, transport);
    largeReplies(start);
  });
}
