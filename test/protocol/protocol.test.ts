import { appSubjects, functionSubject } from './subjects.ts';
import { answersBodies } from './suite.ts';

for (const subject of [functionSubject, ...appSubjects]) answersBodies(...subject);
