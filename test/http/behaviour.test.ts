import { describe } from 'node:test';
import { servers } from '../servers.ts';
import { badRequests } from './behaviour/bad-requests.ts';
import { bodies } from './behaviour/bodies.ts';
import { calls } from './behaviour/calls.ts';
import { chunked } from './behaviour/chunked.ts';
import { connections } from './behaviour/connections.ts';
import { cors } from './behaviour/cors.ts';
import { drain } from './behaviour/drain.ts';
import { hosts } from './behaviour/hosts.ts';
import { largeReplies } from './behaviour/large-replies.ts';
import { proxies } from './behaviour/proxies.ts';
import { rejections } from './behaviour/rejections.ts';
import { replyTurns } from './behaviour/reply-turns.ts';
import { routes } from './behaviour/routes.ts';
import { slowBodies } from './behaviour/slow-bodies.ts';
import { text } from './behaviour/text.ts';
import { starter } from './stub-server.ts';

/** What both servers do alike, over bytes on a socket; where they differ, the test says how and why. */
for (const transport of servers) {
  describe(`http on ${transport}`, () => {
    const start = starter(transport);
    calls(start);
    routes(start, transport);
    rejections(start);
    badRequests(start, transport);
    bodies(start);
    chunked(start, transport);
    slowBodies(start);
    cors(start);
    hosts(start);
    proxies(start);
    connections(start, transport);
    largeReplies(start);
    text(start);
    drain(start);
    replyTurns(start, transport);
  });
}
