import { loadUws } from '../src/server/http/uws/load.ts';

export type ServerName = 'uws' | 'node';

const { reason } = await loadUws();

/** The servers that are here: uWebSockets.js has no binary for some versions of Node. */
export const allServers: readonly ServerName[] = reason === undefined ? ['uws', 'node'] : ['node'];

/** The server that `transport: 'auto'` starts. */
export const usualServer: ServerName = reason === undefined ? 'uws' : 'node';

const isCi = (process.env.CI ?? '') !== '';

/** A long file runs by itself, in a process of its name. */
const isLong = process.argv[1]?.endsWith('.long.test.ts.js') ?? false;

/**
 * The servers that the suites run over: the usual one, and in the long files of CI all that are here. CI runs the suites over
 * node:http in a run without uWebSockets.js. test/transports asks both everywhere what they must do alike.
 */
export const servers: readonly ServerName[] = isCi && isLong ? allServers : [usualServer];

/** What a suite may run over: a server of this package, by its name, or something else that has no server or somebody else's. */
interface Subject {
  readonly server?: ServerName;
}

/** Whether a suite runs over this: what has no server of this package does so everywhere. */
export function isIncluded({ server }: Subject): boolean {
  return server === undefined || servers.includes(server);
}

/** Options of a suite or a test that runs on `server`: it is skipped if this is uWebSockets.js, which cannot load. */
export function needs(server: string | undefined): { readonly skip: string | false } {
  return { skip: server === 'uws' && reason !== undefined && `needs uWebSockets.js: ${reason}` };
}
