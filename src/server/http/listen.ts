import { resolve } from 'node:path';
import type { Service } from '../../core/dispatch/service.ts';
import { assertHttpOptions, type HttpOptions } from './edge/http-options.ts';
import { codeOf, type HttpServer, listenError } from './edge/http-server.ts';
import type { TlsFiles } from './edge/tls.ts';
import { SocketFile } from './edge/unix-socket.ts';
import { listenOnNode } from './node/server.ts';
import { loadUws, type UwsLoad } from './uws/load.ts';
import { listenOnUws } from './uws/server.ts';

/** `auto`: uWebSockets.js; or node:http with one warning line where the native binary can't load. */
export type ServerKind = 'auto' | 'uws' | 'node';

/** Listens at an address, or at the file of a Unix socket. */
type Listen = (at: string | SocketFile, tls: TlsFiles | undefined) => Promise<HttpServer>;

/**
 * Serves `service` over HTTP.
 *
 * @param load loads the native module
 * @throws Error with a `code` and a one-line message: EADDRINUSE and the operating system's others,
 *   ENOTFOUND for the host, ERR_UWS_UNAVAILABLE where `uws` was asked for and can't load,
 *   ERR_PORT_NOT_SHARED where `sharedPort` was and only node:http is there
 * @throws TypeError for an option that can't be served (see assertHttpOptions)
 */
export async function listen(
  service: Service,
  options: HttpOptions,
  transport: ServerKind,
  load: () => Promise<UwsLoad> = loadUws,
): Promise<HttpServer> {
  assertHttpOptions(options);
  const { socket, socketMode, sharedPort, tlsKey, tlsCert, warn } = options;
  const host = socket === '' ? await resolveHost(options) : '';
  let tls: TlsFiles | undefined;
  if (tlsKey !== '') {
    // Few services have a certificate of their own.
    const { loadTls } = await import('./edge/tls.ts');
    tls = await loadTls(tlsKey, tlsCert, warn);
  }
  const listenAt = await chosen(load, service, options, transport);
  if (socket === '') return listenAt(host, tls);
  const file = await SocketFile.prepare(resolve(socket), socketMode, sharedPort);
  let server: HttpServer | undefined;
  try {
    server = await listenAt(file, tls);
    await file.publish();
    return server;
  } catch (error) {
    await server?.close();
    throw error;
  } finally {
    await file.discard();
  }
}

/** The server that `transport` names, or that there is. */
async function chosen(
  load: () => Promise<UwsLoad>,
  service: Service,
  options: HttpOptions,
  transport: ServerKind,
): Promise<Listen> {
  const onNode: Listen = (at, tls) => listenOnNode(service, options, at, tls);
  // Processes of one service pass a Unix socket on, whichever server they have.
  const mustShare = options.sharedPort && options.socket === '';
  if (transport === 'node') {
    if (mustShare) throw notShared('node:http');
    return onNode;
  }
  const loaded = await load();
  if (loaded.uws !== undefined) {
    const { uws } = loaded;
    return (at, tls) => listenOnUws(uws, service, options, at, tls);
  }
  const { reason, advice = '' } = loaded;
  const mend = advice === '' ? '' : `; ${advice}`;
  if (transport === 'uws') {
    const error = new Error(`uWebSockets.js cannot load: ${reason}${mend}`);
    throw Object.assign(error, { code: 'ERR_UWS_UNAVAILABLE' });
  }
  if (mustShare) throw notShared(`uWebSockets.js cannot load (${reason}), and node:http`);
  options.warn(
    `serving on node:http, because the faster uWebSockets.js cannot load: ${reason}${mend}. With option transport "node" this line is not written`,
  );
  return onNode;
}

function notShared(who: string): Error {
  const message = `${who} does not share a port: serve in one process, or with uWebSockets.js`;
  return Object.assign(new Error(message), { code: 'ERR_PORT_NOT_SHARED' });
}

/** Resolves the host once for both transports, which would choose among several addresses in different orders. */
async function resolveHost({ host, port }: HttpOptions): Promise<string> {
  try {
    const { lookup } = await import('node:dns/promises');
    return (await lookup(host)).address;
  } catch (error) {
    throw listenError(codeOf(error), host, port);
  }
}
