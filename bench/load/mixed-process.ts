import { expose } from '../process/expose.ts';
import { runMixed } from './mixed.ts';

expose(undefined, { run: runMixed });
