import { httpSubjects } from './subjects/http.ts';
import { lines } from './subjects/lines.ts';
import { loopback } from './subjects/loopback.ts';
import { socketSubjects } from './subjects/sockets.ts';
import { urlSubjects } from './subjects/urls.ts';
import { conformance } from './suite.ts';

const subjects = [...httpSubjects, ...urlSubjects, ...socketSubjects, lines, loopback];
for (const subject of subjects) conformance(subject);
