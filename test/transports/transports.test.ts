import { httpSubjects } from './subjects/http.ts';
import { loopback } from './subjects/loopback.ts';
import { socketSubjects } from './subjects/sockets.ts';
import { conformance } from './suite.ts';

for (const subject of [...httpSubjects, ...socketSubjects, loopback]) conformance(subject);
