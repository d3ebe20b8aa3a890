import { closed, inline } from './subjects.ts';
import { conformance } from './suite.ts';

/** What needs no threads. Every executor has its name here or in the long file. */
for (const subject of [inline, closed]) conformance(subject);
