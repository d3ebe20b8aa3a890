/** A registry of npm on this machine: it has a few tarballs, and sends for all else to the registry that npm is configured with. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Manifest } from '../bundle.ts';
import { run } from '../run.ts';

export interface Registry {
  /** Of npm, for whoever is to use this registry alone, as a machine on which npm has run never before. */
  readonly env: NodeJS.ProcessEnv;
  close(): void;
}

/** @param folder for npm's cache and configuration */
export async function startRegistry(
  folder: string,
  tarballs: readonly string[],
): Promise<Registry> {
  const { stdout: upstream } = await run('npm', ['config', 'get', 'registry'], { cwd: folder });
  const files = new Map<string, string | Buffer>();
  const server = createServer(({ url = '' }, response) => {
    const file = files.get(decodeURIComponent(url));
    if (file === undefined)
      response.writeHead(307, { location: new URL(url.slice(1), upstream.trim()).href });
    response.end(file);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const tarball of tarballs) {
    const args = ['-xzOf', tarball, 'package/package.json'];
    const manifest = JSON.parse((await run('tar', args, { cwd: folder })).stdout) as Manifest;
    const { name, version } = manifest;
    const bytes = readFileSync(tarball);
    const path = `/${name}/-/${name}-${version}.tgz`;
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    const dist = { tarball: new URL(path, url).href, integrity };
    files.set(path, bytes);
    files.set(
      `/${name}`,
      JSON.stringify({
        name,
        'dist-tags': { latest: version },
        versions: { [version]: { ...manifest, dist } },
      }),
    );
    console.log(`packed ${name}@${version}`);
  }
  const npmrc = join(folder, 'npmrc');
  const lines = [`registry=${url}`, `cache=${join(folder, 'npm-cache')}`];
  writeFileSync(npmrc, [...lines, 'audit=false', 'fund=false', 'update-notifier=false'].join('\n'));
  // Without what npm says to the scripts that it runs: this is one.
  const outer = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return {
    env: { ...Object.fromEntries(outer), npm_config_userconfig: npmrc },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
