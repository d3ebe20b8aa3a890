import { resolve } from 'node:path';
import type { Service } from '../../core/dispatch/service.ts';
import type { HttpOptions } from './edge/http-options.ts';
import { type HttpServer, resolveHost, SocketFile } from './edge/http-server.ts';
import type { TlsFiles } from './edge/tls.ts';
import { createNodeServer } from './node/server.ts';
import { loadUws, type Uws, type UwsLoad } from './uws/load.ts';
import { UwsServer } from './uws/server.ts';

/** `auto`: uWebSockets.js; or node:http with one warning line where the native binary can't load. */
export type ServerKind = 'auto' | 'uws' | 'node';

/**
 * Serves `service` over HTTP.
 *
 * @param options as `resolveConfig` has checked them: uWebSockets.js takes a port modulo 65536, reads `:` and `*` in a path as
 *   patterns, and writes a header value as it is, line breaks included
 * @param load loads the native module
 * @throws Error with a `code` and a one-line message: EADDRINUSE and the operating system's others,
 *   ENOTFOUND for the host, ERR_UWS_UNAVAILABLE where `uws` was asked for and can't load,
 *   ERR_PORT_NOT_SHARED where `sharedPort` was and only node:http is there
 */
export async function listen(
  service: Service,
  options: HttpOptions,
  transport: ServerKind,
  load: () => Promise<UwsLoad> = loadUws,
): Promise<HttpServer> {
  const { socket, socketMode, sharedPort, tlsKey, tlsCert, warn } = options;
  const host = socket === '' ? await resolveHost(options.host, options.port) : '';
  let tls: TlsFiles | undefined;
  if (tlsKey !== '') {
    // Few services have a certificate of their own.
    const { loadTls } = await import('./edge/tls.ts');
    tls = await loadTls(tlsKey, tlsCert, warn);
  }
  const uws = await chosen(load, options, transport);
  const file =
    socket === '' ? undefined : await SocketFile.prepare(resolve(socket), socketMode, sharedPort);
  try {
    const server =
      uws === undefined
        ? await createNodeServer(service, options, tls)
        : new UwsServer(uws, service, options, tls);
    await server.listen(file ?? host);
    await file?.publish().catch(async (error: unknown) => {
      await server.close();
      throw error;
    });
    return server;
  } finally {
    await file?.discard();
  }
}

/** What the server runs on that `transport` names, or that there is; undefined: node:http. */
async function chosen(
  load: () => Promise<UwsLoad>,
  { sharedPort, socket, warn }: HttpOptions,
  transport: ServerKind,
): Promise<Uws | undefined> {
  // Processes of one service pass a Unix socket on, whichever server they have.
  const mustShare = sharedPort && socket === '';
  if (transport === 'node') {
    if (mustShare) throw notShared('node:http');
    return undefined;
  }
  const loaded = await load();
  if (loaded.uws !== undefined) return loaded.uws;
  const { reason, advice = '' } = loaded;
  const mend = advice === '' ? '' : `; ${advice}`;
  if (transport === 'uws') {
    const error = new Error(`uWebSockets.js cannot load: ${reason}${mend}`);
    throw Object.assign(error, { code: 'ERR_UWS_UNAVAILABLE' });
  }
  if (mustShare) throw notShared(`uWebSockets.js cannot load (${reason}), and node:http`);
  warn(
    `serving on node:http, because the faster uWebSockets.js cannot load: ${reason}${mend}. With option transport "node" this line is not written`,
  );
  return undefined;
}

function notShared(who: string): Error {
  const message = `${who} does not share a port: serve in one process, or with uWebSockets.js`;
  return Object.assign(new Error(message), { code: 'ERR_PORT_NOT_SHARED' });
}
