import { appSubjects } from './subjects.ts';
import { answersBodies } from './suite.ts';

for (const subject of appSubjects) answersBodies(...subject);
