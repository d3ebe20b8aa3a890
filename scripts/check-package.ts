/**
 * `npm run check:package`: packs the package into a temporary folder and checks the tarball as a
 * consumer would meet it: publint for package.json, attw for the types.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

/** Runs one command line; throws if it did not exit with 0. */
function run(command: string, args: string[]): void {
  const line = [command, ...args].join(' ');
  console.log(`$ ${line}`);
  // npm and the tools of node_modules/.bin are .cmd files on Windows: they need the shell.
  const { status, error } = spawnSync(command, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`failed (exit code ${status}): ${line}`);
}

const folder = mkdtempSync(join(tmpdir(), 'tandem-rpc-pack-'));
try {
  run('npm', ['pack', '--silent', '--pack-destination', folder]);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error(`npm pack wrote no tarball into ${folder}`);
  run('publint', ['run', join(folder, tarball), '--strict']);
  run('attw', [join(folder, tarball), '--profile', 'esm-only', '--no-emoji']);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
