import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { HttpOptions } from '../../src/server/http/edge/http-options.ts';
import type { HttpServer } from '../../src/server/http/edge/http-server.ts';
import { listen } from '../../src/server/http/listen.ts';
import type { Certificate } from './certificate.ts';
import { RawClient } from './raw-client.ts';
import { StubService } from './stub-service.ts';

export const defaults: HttpOptions = {
  host: '127.0.0.1',
  port: 0,
  sharedPort: false,
  socket: '',
  socketMode: 0o600,
  path: '/rpc',
  mcp: undefined,
  corsOrigin: '*',
  corsHeaders: [],
  corsCredentials: false,
  allowedHosts: [],
  trustedProxies: [],
  callerHeader: undefined,
  tlsKey: '',
  tlsCert: '',
  authenticate: undefined,
  maxBodyBytes: 10 * 1024 * 1024,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 96,
  bodyTimeoutMs: 10_000,
  maxReplyBytes: 25 * 1024 * 1024,
  webSocket: true,
  maxCallsPerConnection: 1000,
  maxStreamsPerConnection: 100,
  streamPingMs: 15_000,
  socketIdleMs: 60_000,
  writeTimeoutMs: 10_000,
  introspection: true,
  console: undefined,
  health: true,
  forwardHeaders: [],
  serves: 'all',
  maxConnections: 10_000,
  onConnectionRefused: () => {},
  // Longer than any test may take: a request that is never counted out fails its test.
  shutdownGraceMs: 300_000,
  warn: (message) => assert.fail(`unexpected warning: ${message}`),
};

export interface Running {
  readonly server: HttpServer;
  readonly service: StubService;
  readonly port: number;
  readonly client: () => RawClient;
}

export type Start = (t: TestContext, options?: Partial<HttpOptions>) => Promise<Running>;

/**
 * Starts servers on one transport, and fails where another one answered.
 *
 * @param certificate what connections are encrypted with; undefined: they are not
 */
export function starter(
  transport: 'uws' | 'node',
  certificate?: Pick<Certificate, 'keyPath' | 'certPath' | 'cert'>,
): Start {
  const tls = certificate && { tlsKey: certificate.keyPath, tlsCert: certificate.certPath };
  return async (t, options = {}) => {
    const service = new StubService();
    const server = await listen(service, { ...defaults, ...tls, ...options }, transport);
    assert.equal(server.transport, transport);
    const clients: RawClient[] = [];
    t.after(async () => {
      for (const client of clients) client.destroy();
      for (const { release } of service.held) release();
      await server.close();
    });
    const { port, socket } = server.address;
    const client = () => {
      const made = new RawClient(socket ?? port, '127.0.0.1', certificate?.cert);
      clients.push(made);
      return made;
    };
    return { server, service, port, client };
  };
}

/**
 * Lets a server of this process read what was written before: each turn of the event loop looks at the
 * sockets once, and the first one may be half over.
 */
export async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}
