import { dispatcherSubjects, functionSubject } from './subjects.ts';
import { answersBodies } from './suite.ts';

/** What the app has below it, and what has no app. */
for (const subject of [functionSubject, ...dispatcherSubjects]) answersBodies(...subject);
