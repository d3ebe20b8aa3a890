import { resolve } from 'node:path';
import { isLoopback } from '../../core/base/loopback.ts';
import type { Service } from '../../core/dispatch/service.ts';
import type { HttpOptions } from './edge/http-options.ts';
import { type HttpServer, resolveHost, SocketFile } from './edge/http-server.ts';
import type { TlsFiles } from './edge/tls.ts';
import { createNodeServer } from './node/server.ts';
import { loadUws, otherBinary, type Uws, type UwsLoad, type UwsLoaded } from './uws/load.ts';
import { UwsServer } from './uws/server.ts';

/** `auto`: uWebSockets.js, or node:http if the native binary can't load, or has a fault that others than this machine would meet. */
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
  const loaded = transport === 'node' ? undefined : await load();
  const uws = chosen(loaded, { ...options, host }, transport);
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

/**
 * Whether a server runs on the uWebSockets.js that was loaded. A request reaches loopback and a Unix socket in one piece, unless its
 * client writes it in pieces.
 *
 * @param host an address; empty: the server listens on a Unix socket
 */
export function takesUws(
  loaded: UwsLoad,
  transport: ServerKind,
  host: string,
): loaded is UwsLoaded {
  if (loaded.uws === undefined || transport === 'node') return false;
  return transport === 'uws' || loaded.fault === undefined || isOnlyHere(host);
}

function isOnlyHere(host: string): boolean {
  return host === '' || isLoopback(host);
}

/** What the server runs on, which one line of the log tells with its reason; undefined: node:http. */
function chosen(
  loaded: UwsLoad | undefined,
  { sharedPort, socket, host, tellTransport }: HttpOptions,
  transport: ServerKind,
): Uws | undefined {
  // Processes of one service pass a Unix socket on, whichever server they have.
  const mustShare = sharedPort && socket === '';
  if (loaded === undefined) {
    if (mustShare) throw notShared('node:http');
    return undefined;
  }
  if (takesUws(loaded, transport, host)) {
    const { uws, fault } = loaded;
    const isSafe = fault === undefined || isOnlyHere(host);
    tellTransport(isSafe ? 'info' : 'warn', `serving on uWebSockets.js${uwsNote(fault, isSafe)}`);
    return uws;
  }
  const { reason, advice = '' } = refusalOf(loaded, host);
  const mend = advice === '' ? '' : `; ${advice}`;
  if (transport === 'uws') {
    const error = new Error(`uWebSockets.js ${reason}${mend}`);
    throw Object.assign(error, { code: 'ERR_UWS_UNAVAILABLE' });
  }
  if (mustShare) throw notShared(`uWebSockets.js ${reason}${mend}; node:http`);
  tellTransport(
    'warn',
    `serving on node:http, because the faster uWebSockets.js ${reason}${mend}. With option transport "node" this line is not written`,
  );
  return undefined;
}

/** @param isSafe whether no request of another machine meets the fault */
function uwsNote(fault: string | undefined, isSafe: boolean): string {
  const idle = `it closes connections that are idle for 10 s: ${idleAdvice}`;
  if (fault === undefined) return `; ${idle}`;
  const mend = isSafe
    ? 'only this machine can connect, and a proxy sends that line whole; with option transport "node" no client meets this'
    : otherBinary;
  return `, although ${fault}: ${mend}; ${idle}`;
}

/** What a proxy that keeps connections open must be told, so that it sends no request into one that closes. */
const idleAdvice = 'a proxy must close its own earlier (nginx: keepalive_timeout 8s)';

/** Why uWebSockets.js does not serve, and what to do, as parts of one line. */
function refusalOf(loaded: UwsLoad, host: string): { reason: string; advice?: string } {
  if (loaded.uws === undefined) return { ...loaded, reason: `cannot load: ${loaded.reason}` };
  return {
    reason: `is not taken at ${host}: ${loaded.fault}`,
    advice: `${otherBinary}, or take it all the same by option transport "uws"`,
  };
}

function notShared(who: string): Error {
  const message = `${who} does not share a port: serve in one process, or with uWebSockets.js`;
  return Object.assign(new Error(message), { code: 'ERR_PORT_NOT_SHARED' });
}
