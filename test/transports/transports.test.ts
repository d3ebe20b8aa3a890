import { httpSubjects } from './subjects/http.ts';
import { lines } from './subjects/lines.ts';
import { loopback } from './subjects/loopback.ts';
import { socketSubjects } from './subjects/sockets.ts';
import { conformance } from './suite.ts';

for (const subject of [...httpSubjects, ...socketSubjects, lines, loopback]) conformance(subject);
