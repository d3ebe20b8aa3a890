import { loadUws } from '../src/server/http/uws/load.ts';

export type ServerName = 'uws' | 'node';

const { reason } = await loadUws();

/** The servers that are here: uWebSockets.js has no binary for some versions of Node. */
export const servers: readonly ServerName[] = reason === undefined ? ['uws', 'node'] : ['node'];

/** The server that `transport: 'auto'` starts. */
export const usualServer: ServerName = reason === undefined ? 'uws' : 'node';

/** Options of a suite or a test that runs on `server`: it is skipped if this is uWebSockets.js, which cannot load. */
export function needs(server: string | undefined): { readonly skip: string | false } {
  return { skip: server === 'uws' && reason !== undefined && `needs uWebSockets.js: ${reason}` };
}
