import { closed, inline, pool } from './subjects.ts';
import { conformance } from './suite.ts';

/** Every executor there is: another joins by its subject, and its name here. */
for (const subject of [inline, pool, closed]) conformance(subject);
