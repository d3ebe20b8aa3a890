import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { wrkVersion } from './load/wrk.ts';
import { rootPath } from './root.ts';

/** The machine and the commit that the numbers were measured on. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  /** Load average of the last minute, before and after the run. */
  readonly load: readonly number[];
  readonly commit: string;
  /** Whether the work tree had changes that are not in the commit. */
  readonly modified: boolean;
  readonly versions: Readonly<Record<string, string>>;
}

const packages = [
  'tandem-rpc',
  'uWebSockets.js',
  'piscina',
  'fastify',
  '@fastify/cors',
  'jayson',
  'json-rpc-2.0',
  '@metamask/json-rpc-engine',
  '@orpc/server',
  '@trpc/server',
  'autocannon',
  'benchmark',
];

/** Before a run: the commit may be another one behind it. */
export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    load: [loadNow()],
    commit: git('rev-parse', '--short', 'HEAD') ?? 'unknown',
    modified: (git('status', '--porcelain', '--', 'src', 'workers', 'bench') ?? '') !== '',
    versions: versions(),
  };
}

export function loadNow(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}

function versions(): Record<string, string> {
  const known = packages.map((name) => {
    const path = name === 'tandem-rpc' ? 'package.json' : `node_modules/${name}/package.json`;
    const { version } = JSON.parse(readFileSync(rootPath(path), 'utf8')) as { version: string };
    return [name, version] as const;
  });
  return { ...Object.fromEntries(known), wrk: wrkVersion() ?? 'not installed' };
}

function git(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: rootPath(), encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
