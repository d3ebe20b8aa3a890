/** A server of PostgreSQL with an empty database of its own. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Running } from '../cli/process.ts';
import { freePort } from '../free-port.ts';
import { findProgram, isProgram } from '../programs.ts';

/** @returns the folder of initdb, postgres and psql. Debian keeps them out of PATH */
export function findPostgres(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const folders = existsSync(debian)
    ? readdirSync(debian).map((version) => join(debian, version, 'bin'))
    : [];
  const inPath = findProgram('initdb');
  if (inPath !== undefined) folders.push(dirname(inPath));
  return folders.findLast((folder) =>
    ['initdb', 'postgres', 'psql'].every((program) => isProgram(join(folder, program))),
  );
}

export interface Postgres {
  readonly port: string;
  /** The rows of a query, a line each. */
  query(sql: string): string;
  stop(): Promise<void>;
}

/** The server refuses to run as root: then it runs as `nobody`. */
function userOf(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number =>
    Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

export async function startPostgres(): Promise<Postgres> {
  const programs = findPostgres();
  if (programs === undefined) throw new Error('the server of PostgreSQL is missing');
  const data = mkdtempSync(join(tmpdir(), 'tandem-postgres-'));
  const user = userOf();
  chmodSync(data, 0o700);
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid ?? user.uid);
  const env = { ...process.env, LC_ALL: 'C', PGUSER: 'postgres' };
  const options = { ...user, cwd: data, env };
  const settings = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  execFileSync(join(programs, 'initdb'), settings, { ...options, stdio: 'pipe' });
  const port = String(await freePort());
  const listen = ['-D', data, '-p', port, '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off'];
  const child = spawn(
    join(programs, 'postgres'),
    [...listen, '-c', 'unix_socket_directories='],
    options,
  );
  const server = new Running(child);
  await server.seen('stderr', /database system is ready to accept connections/);
  const to = ['-h', '127.0.0.1', '-p', port, '-U', 'postgres', '-X', '-A', '-t', '-q', '-c'];
  return {
    port,
    query: (sql) =>
      execFileSync(join(programs, 'psql'), [...to, sql], { env, encoding: 'utf8' }).trim(),
    async stop() {
      child.kill('SIGQUIT');
      await server.exit;
      rmSync(data, { recursive: true, force: true });
    },
  };
}
