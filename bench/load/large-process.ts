import { expose } from '../process/expose.ts';
import { runLarge } from './large.ts';

expose(undefined, { run: runLarge });
