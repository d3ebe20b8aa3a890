import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** The registry that npm is set up for. */
function upstream(): string {
  return execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
}

/** Asks as often as npm itself does before it gives up. */
export async function isReachable(): Promise<boolean> {
  const url = new URL('ms', upstream());
  for (let left = 2; left >= 0; left--) {
    const isThere = await fetch(url, { method: 'HEAD' }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isThere) return true;
    if (left > 0) await pause(1000);
  }
  return false;
}

/** A package as `npm pack` has made it, and the registry that has everything else. */
export class Registry {
  readonly #server: Server;
  readonly url: string;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  /** @param tarball of a package that is on no registry yet */
  static async start(tarball: string): Promise<Registry> {
    const bytes = readFileSync(tarball);
    const manifest = JSON.parse(
      execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }),
    ) as { name: string; version: string };
    const { name, version } = manifest;
    const others = upstream();
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    const file = `/${name}/-/${name}-${version}.tgz`;
    const server = createServer(({ url = '', headers }, response) => {
      if (url === file) response.end(bytes);
      else if (url === `/${name}`) {
        const dist = { tarball: `http://${headers.host}${file}`, integrity };
        const versions = { [version]: { ...manifest, dist } };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
      } else response.writeHead(307, { location: new URL(url.slice(1), others).href }).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new Registry(server);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
