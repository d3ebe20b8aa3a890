import { overWays } from './over-ways.ts';
import { ownServers } from './stage.ts';

overWays(ownServers);
