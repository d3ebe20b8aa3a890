import { httpSubject, servers } from './subjects/http.ts';
import { socketSubject } from './subjects/sockets.ts';
import { conformance } from './suite.ts';

for (const server of servers) {
  conformance(httpSubject(server));
  conformance(socketSubject(server));
}
