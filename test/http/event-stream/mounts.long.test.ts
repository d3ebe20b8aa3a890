/** The same cases in other people's servers, which have the handler of node:http: a long test. */
import { overWays } from './over-ways.ts';
import { ownServers, ways } from './stage.ts';

overWays(ways.filter((way) => !ownServers.includes(way)));
