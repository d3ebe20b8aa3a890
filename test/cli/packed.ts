/** The packages as npm would install them, without the network. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildClient, bundleInto, writeTypes } from '../../scripts/bundle.ts';
import { isCompiled, root, tree } from '../files.ts';

const modules = join(root, 'node_modules');

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
}

/** Where the tarball lies: one for all files of a run, whose folder goes with the run, or one for this process. */
let shared = isCompiled ? join(tree, 'packed') : undefined;

function sharedFolder(): string {
  if (shared !== undefined) return shared;
  const own = mkdtempSync(join(tmpdir(), 'tandem-packed-'));
  process.on('exit', () => rmSync(own, { recursive: true, force: true }));
  shared = join(own, 'packed');
  return shared;
}

/** @returns the path of the package's tarball, with its declarations. The first file of a run that asks makes it */
export async function packedTarball(): Promise<string> {
  const folder = sharedFolder();
  const lock = `${folder}.lock`;
  while (!existsSync(folder)) {
    if (!isFirst(lock)) {
      await pause(100);
      continue;
    }
    try {
      // Another file may have made it since this one looked.
      if (!existsSync(folder)) await packInto(folder);
    } finally {
      rmdirSync(lock);
    }
  }
  const name = readdirSync(folder).find((entry) => entry.endsWith('.tgz'));
  if (name === undefined) throw new Error(`no tarball in ${folder}`);
  return join(folder, name);
}

/** Whether nobody is making it. Who is told so removes the folder afterwards. */
function isFirst(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Builds and packs the package. The folder is there when the tarball in it is whole. */
async function packInto(folder: string): Promise<void> {
  const made = `${folder}.made`;
  const staging = `${folder}.staging`;
  for (const path of [made, staging]) rmSync(path, { recursive: true, force: true });
  await bundleInto(root, join(staging, 'dist'));
  await writeTypes(root, join(staging, 'dist'));
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    files: string[];
  };
  for (const name of ['package.json', 'README.md', 'LICENSE', ...files]) {
    // What is named by a pattern is pages and pictures, which no test of the installed package needs.
    if (name === 'dist' || name.includes('*')) continue;
    cpSync(join(root, name), join(staging, name), { recursive: true });
  }
  mkdirSync(made);
  pack(staging, made);
  rmSync(staging, { recursive: true });
  renameSync(made, folder);
}

/**
 * Unpacks the package into `folder/node_modules`, beside its dependencies. Its tarball lies in `folder`.
 *
 * @returns the command line's main file
 */
export async function installPacked(folder: string): Promise<string> {
  const installed = join(folder, 'node_modules');
  const tarball = await packedTarball();
  copyFileSync(tarball, join(folder, basename(tarball)));
  const own = unpack(tarball, join(installed, 'tandem-rpc'));
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
