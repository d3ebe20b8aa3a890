import { httpSubjects } from './subjects/http.ts';
import { lines } from './subjects/lines.ts';
import { loopback } from './subjects/loopback.ts';
import { conformance } from './suite.ts';

for (const subject of [...httpSubjects, lines, loopback]) conformance(subject);
