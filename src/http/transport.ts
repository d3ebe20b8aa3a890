import { lookup } from 'node:dns/promises';
import type { Service } from '../dispatch/service.ts';
import { assertHttpOptions, type HttpOptions } from './edge/http-options.ts';
import type { HttpServer } from './edge/http-server.ts';
import { codeOf, listenError } from './edge/listen-error.ts';
import { loadTls } from './edge/tls.ts';
import { listenOnNode } from './node/server.ts';
import type { UwsLoad } from './uws/load.ts';
import { listenOnUws } from './uws/server.ts';

/** `auto`: uWebSockets.js; or node:http with one warning line where the native binary can't load. */
export type Transport = 'auto' | 'uws' | 'node';

/** `listen` of listen.ts, with the function that loads the native module as a parameter. */
export async function listenWith(
  load: () => Promise<UwsLoad>,
  service: Service,
  options: HttpOptions,
  transport: Transport,
): Promise<HttpServer> {
  assertHttpOptions(options);
  const host = await resolveHost(options);
  const { tlsKey, tlsCert, warn } = options;
  const tls = tlsKey === '' ? undefined : await loadTls(tlsKey, tlsCert, warn);
  if (transport === 'node') {
    if (options.sharedPort) throw notShared('node:http');
    return listenOnNode(service, options, host, tls);
  }
  const { uws, reason } = await load();
  if (uws !== undefined) return listenOnUws(uws, service, options, host, tls);
  if (transport === 'uws') {
    const error = new Error(`uWebSockets.js cannot load: ${reason}`);
    throw Object.assign(error, { code: 'ERR_UWS_UNAVAILABLE' });
  }
  if (options.sharedPort) throw notShared(`uWebSockets.js cannot load (${reason}), and node:http`);
  options.warn(`uWebSockets.js cannot load (${reason}): serving on node:http, which is slower`);
  return listenOnNode(service, options, host, tls);
}

function notShared(who: string): Error {
  const message = `${who} does not share a port: serve in one process, or with uWebSockets.js`;
  return Object.assign(new Error(message), { code: 'ERR_PORT_NOT_SHARED' });
}

/** Resolves the host once for both transports, which would choose among several addresses in different orders. */
async function resolveHost({ host, port }: HttpOptions): Promise<string> {
  try {
    return (await lookup(host)).address;
  } catch (error) {
    throw listenError(codeOf(error), host, port);
  }
}
