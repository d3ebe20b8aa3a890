/** The package as npm would install it, without the network. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bundleInto, writeTypes } from '../../scripts/bundle.ts';
import { root } from '../files.ts';

const modules = join(root, 'node_modules');

function run(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
}

/**
 * Builds and packs the package, and unpacks it into `folder/node_modules`, beside its dependencies.
 *
 * @param withTypes its declarations too, which take the compiler some seconds
 * @returns the command line's main file
 */
export async function installPacked(folder: string, withTypes = false): Promise<string> {
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
  run(
    'npm',
    ['pack', '--ignore-scripts', '--offline', '--silent', '--pack-destination', folder],
    staging,
  );
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';

  const installed = join(folder, 'node_modules');
  const own = join(installed, 'tandem-rpc');
  mkdirSync(own, { recursive: true });
  run('tar', ['-xzf', join(folder, tarball), '-C', own, '--strip-components=1'], folder);
  for (const name of readdirSync(modules)) {
    if (name !== '.bin' && name !== 'tandem-rpc') {
      symlinkSync(join(modules, name), join(installed, name));
    }
  }
  const main = join(own, 'dist/src/cli/main.js');
  mkdirSync(join(installed, '.bin'));
  chmodSync(main, 0o755); // as npm does with what a package names as its commands
  symlinkSync(main, join(installed, '.bin/tandem'));
  symlinkSync(join(modules, 'typescript/bin/tsc'), join(installed, '.bin/tsc'));
  return main;
}
