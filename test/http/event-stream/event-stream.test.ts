import { isIncluded } from '../../servers.ts';
import { overWays } from './over-ways.ts';
import { ownServers } from './stage.ts';

overWays(ownServers.filter(isIncluded));
