/** A registry of npm packages on this machine: Verdaccio, before the registry that npm is configured with. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { npm } from './run.ts';

/** The newest version that runs on Node 20. It is no dependency of this project: it is installed into a cache, once. */
const verdaccio = '6.7.4';
/** A dependency of Verdaccio asks for a tag of this package that not every mirror has. */
const overrides = { 'node-fetch': '2.7.0' };

export interface Registry {
  readonly url: string;
  /** Of npm, for whoever is to use this registry alone, as a machine on which npm has run never before. */
  readonly env: NodeJS.ProcessEnv;
  close(): Promise<void>;
}

/** @param folder for what it stores, its configuration and its log */
export async function startRegistry(folder: string): Promise<Registry> {
  const main = installVerdaccio();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  // JSON is YAML, which Verdaccio reads.
  const config = join(folder, 'verdaccio.yaml');
  writeFileSync(config, JSON.stringify(configuration(folder)));
  const child = spawn(process.execPath, [main, '--config', config, '--listen', url], {
    cwd: folder,
    // It warns of being run by root, as containers do.
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await answers(`${url}-/ping`, child);
  } catch (error) {
    child.kill();
    throw error;
  }
  const npmrc = join(folder, 'npmrc');
  const lines = [
    `registry=${url}`,
    // Whoever reaches the registry may publish, but npm wants a token before it asks.
    `//127.0.0.1:${port}/:_authToken=rehearsal`,
    `cache=${join(folder, 'npm-cache')}`,
    'audit=false',
    'fund=false',
    'update-notifier=false',
  ];
  writeFileSync(npmrc, `${lines.join('\n')}\n`);
  // Without what npm says to the scripts that it runs: this is one.
  const outer = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return {
    url,
    env: { ...Object.fromEntries(outer), npm_config_userconfig: npmrc },
    async close() {
      child.kill();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** @returns Verdaccio's program */
function installVerdaccio(): string {
  const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const folder = join(caches, 'tandem-release', `verdaccio-${verdaccio}`);
  const main = join(folder, 'node_modules/verdaccio/bin/verdaccio');
  if (existsSync(main)) return main;
  // Elsewhere first: an installation that was stopped half-way is none.
  const making = `${folder}.${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  const manifest = { private: true, dependencies: { verdaccio }, overrides };
  writeFileSync(join(making, 'package.json'), JSON.stringify(manifest));
  const flags = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'];
  npm(['install', ...flags], { cwd: making });
  rmSync(folder, { recursive: true, force: true });
  renameSync(making, folder);
  return main;
}

function configuration(folder: string): object {
  const open = { access: '$all', publish: '$all' };
  const proxy = (name: string): string | undefined => {
    const value = npm(['config', 'get', name], { cwd: folder }).trim();
    return value === 'null' || value === '' ? undefined : value;
  };
  const [https, http] = [proxy('https-proxy'), proxy('proxy')];
  return {
    storage: join(folder, 'storage'),
    uplinks: {
      npm: {
        url: npm(['config', 'get', 'registry'], { cwd: folder }).trim(),
        timeout: '60s',
        max_fails: 100,
        // npm shows nobody the token of a registry, so a private one needs it in this variable.
        ...(process.env.NPM_TOKEN && { auth: { type: 'bearer', token_env: 'NPM_TOKEN' } }),
      },
    },
    packages: {
      'tandem-rpc': open,
      'tandem-rpc-*': open,
      'create-tandem-rpc': open,
      '**': { access: '$all', proxy: 'npm' },
    },
    ...(https && { https_proxy: https }),
    ...(http && { http_proxy: http }),
    max_body_size: '200mb',
    web: { enable: false },
    log: { type: 'file', path: join(folder, 'verdaccio.log'), level: 'http', format: 'json' },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`Verdaccio ended with ${child.exitCode}`);
    const isThere = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isThere) return;
    await new Promise((wake) => setTimeout(wake, 100));
  }
}
