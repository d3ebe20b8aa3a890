import { servers } from '../servers.ts';
import { behaviour } from './behaviour.ts';

if (servers.includes('uws')) behaviour('uws');
