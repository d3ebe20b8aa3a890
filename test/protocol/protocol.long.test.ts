import { dispatcherSubjects } from './subjects.ts';
import { answersBodies } from './suite.ts';

/** What the app has below it. */
for (const subject of dispatcherSubjects) answersBodies(...subject);
