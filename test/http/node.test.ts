import { behaviour } from './behaviour.ts';

behaviour('node');
