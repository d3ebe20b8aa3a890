import { frameworkSubjects } from './subjects/http.ts';
import { conformance } from './suite.ts';

for (const subject of frameworkSubjects) conformance(subject);
