import { httpSubject, mounts } from './subjects/http.ts';
import { lines } from './subjects/lines.ts';
import { mountedSocket, socketSubject } from './subjects/sockets.ts';
import { urlSubjects } from './subjects/urls.ts';
import { conformance } from './suite.ts';

/** The mounts, which have the servers of others below them, and other ways to say the same. */
for (const mount of mounts) conformance(httpSubject(mount));
for (const subject of [...urlSubjects, socketSubject(mountedSocket), lines]) conformance(subject);
