/** The packages as npm would install them, without the network. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buildClient, bundleInto, writeTypes } from '../../scripts/bundle.ts';
import { root } from '../files.ts';

const modules = join(root, 'node_modules');

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
}

/**
 * Builds and packs the package.
 *
 * @param folder where the tarball goes
 * @param withTypes its declarations too, which take the compiler some seconds
 * @returns the path of the tarball
 */
export async function packWhole(folder: string, withTypes = false): Promise<string> {
  const staging = join(folder, 'staging');
  await bundleInto(root, join(staging, 'dist'));
  if (withTypes) writeTypes(root, join(staging, 'dist'));
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    files: string[];
  };
  for (const name of ['package.json', 'README.md', 'LICENSE', ...files]) {
    // What is named by a pattern is pages and pictures, which no test of the installed package needs.
    if (name === 'dist' || name.includes('*')) continue;
    cpSync(join(root, name), join(staging, name), { recursive: true });
  }
  return pack(staging, folder);
}

/**
 * Builds and packs the package, and unpacks it into `folder/node_modules`, beside its dependencies.
 *
 * @returns the command line's main file
 */
export async function installPacked(folder: string, withTypes = false): Promise<string> {
  const installed = join(folder, 'node_modules');
  const own = unpack(await packWhole(folder, withTypes), join(installed, 'tandem-rpc'));
  const packed = ['.bin', 'tandem-rpc', 'tandem-rpc-client'];
  for (const name of readdirSync(modules)) {
    if (!packed.includes(name)) symlinkSync(join(modules, name), join(installed, name));
  }
  const main = join(own, 'dist/src/cli/main.js');
  mkdirSync(join(installed, '.bin'));
  chmodSync(main, 0o755); // as npm does with what a package names as its commands
  symlinkSync(main, join(installed, '.bin/tandem'));
  symlinkSync(join(modules, 'typescript/bin/tsc'), join(installed, '.bin/tsc'));
  return main;
}

/**
 * Builds and packs the client's package, and unpacks it into `folder/node_modules`, beside nothing.
 *
 * @returns the folder of the package
 */
export async function installPackedClient(folder: string, withTypes = false): Promise<string> {
  const staging = join(folder, 'staging-client');
  for (const name of ['package.json', 'README.md', 'LICENSE']) {
    cpSync(join(root, 'packages/client', name), join(staging, name), { recursive: true });
  }
  await buildClient(root, staging, withTypes);
  return unpack(pack(staging, folder), join(folder, 'node_modules/tandem-rpc-client'));
}

/** Packs a folder as npm does. */
function pack(staging: string, to: string): string {
  const args = ['pack', '--ignore-scripts', '--offline', '--silent', '--pack-destination', to];
  return join(to, run('npm', args, staging).trim());
}

function unpack(tarball: string, to: string): string {
  mkdirSync(to, { recursive: true });
  run('tar', ['-xzf', tarball, '-C', to, '--strip-components=1'], to);
  return to;
}
