import { behaviour } from './behaviour.ts';

behaviour('uws');
