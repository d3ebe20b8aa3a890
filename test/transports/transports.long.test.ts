import { mountSubjects } from './subjects/http.ts';
import { lines } from './subjects/lines.ts';
import { mountedSocket } from './subjects/sockets.ts';
import { urlSubjects } from './subjects/urls.ts';
import { conformance } from './suite.ts';

/** The mounts, which have the servers of others below them, and other ways to say the same. */
for (const subject of [...mountSubjects, ...urlSubjects, mountedSocket, lines])
  conformance(subject);
