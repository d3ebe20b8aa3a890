/**
 * `npm run check:package`: packs the packages into temporary folders and checks the tarballs, which are what a consumer
 * gets: publint checks package.json, attw the types.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../src/core/base/message-of.ts';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

/** Runs one command line. @throws Error if it does not exit with 0 */
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
  for (const of of [[], ['--workspace', 'tandem-rpc-client'], ['./packages/create']]) {
    const to = mkdtempSync(join(folder, 'of-'));
    run('npm', ['pack', '--silent', ...of, '--pack-destination', to]);
    const tarball = readdirSync(to).find((name) => name.endsWith('.tgz'));
    if (tarball === undefined) throw new Error(`npm pack wrote no tarball into ${to}`);
    run('publint', ['run', join(to, tarball), '--strict']);
    // A command, without types.
    if (of[0] !== './packages/create')
      run('attw', [join(to, tarball), '--profile', 'esm-only', '--no-emoji']);
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
