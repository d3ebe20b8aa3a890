import type { Call } from './exchange.ts';
