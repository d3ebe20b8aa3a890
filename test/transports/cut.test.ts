import { atRandom, cutWay } from './cut-proxy.ts';
import { httpSubject, servers } from './subjects/http.ts';
import { socketSubject } from './subjects/sockets.ts';
import { conformance } from './suite.ts';

/** Those of all cases that send many messages, large bodies and answers, and that end a server under calls. */
const sample = [
  'the examples of the specification have their answers',
  'a message that comes in pieces is one message',
  'close() answers what was accepted, takes nobody new, and ends after that',
];

for (const server of servers) {
  conformance(httpSubject(cutWay(server, atRandom)), sample);
  conformance(socketSubject(cutWay(server, atRandom)), sample);
}
