import { loadUws } from '../src/server/http/uws/load.ts';

export type ServerName = 'uws' | 'node';

const { reason } = await loadUws();

/** The servers that are here: uWebSockets.js has no binary for some versions of Node. */
const loaded: readonly ServerName[] = reason === undefined ? ['uws', 'node'] : ['node'];

/** The server that `transport: 'auto'` starts. */
export const usualServer: ServerName = reason === undefined ? 'uws' : 'node';

const isCi = (process.env.CI ?? '') !== '';

/**
 * The servers that the suites run over: all that are here in CI, elsewhere the usual one. test/transports asks both everywhere
 * what they must do alike.
 */
export const servers: readonly ServerName[] = isCi ? loaded : [usualServer];

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
