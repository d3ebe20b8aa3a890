import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { resolveConfig } from '../../src/core/config/config.ts';
import { createAuthenticator } from '../../src/core/dispatch/authenticate.ts';
import type { Authenticate } from '../../src/index.ts';
import type { HttpOptions } from '../../src/server/http/edge/http-options.ts';
import type { HttpServer } from '../../src/server/http/edge/http-server.ts';
import { listen } from '../../src/server/http/listen.ts';
import type { Certificate } from './certificate.ts';
import { RawClient } from './raw-client.ts';
import { StubService } from './stub-service.ts';

export const defaults: HttpOptions = {
  ...resolveConfig(
    {
      port: 0,
      // Longer than any test may take: a request that is never counted out fails its test.
      shutdownGraceMs: 300_000,
    },
    {},
  ),
  sharedPort: false,
  mcp: undefined,
  api: undefined,
  callerHeader: undefined,
  authenticate: undefined,
  console: undefined,
  serves: 'all',
  onConnectionRefused: () => {},
  warn: (message) => assert.fail(`unexpected warning: ${message}`),
};

/** The option of a server whose hook says who calls. A fault of the hook is nowhere told. */
export function asking(authenticate: Authenticate): Pick<HttpOptions, 'authenticate'> {
  return { authenticate: createAuthenticator('authenticate', authenticate, () => {}) };
}

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
