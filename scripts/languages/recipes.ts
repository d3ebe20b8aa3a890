/**
 * The recipes of docs/recipes with frameworks that this project does not have, played with the packed package. Their packages are
 * pinned in test/recipes by a lock file, and installed in ~/.cache/tandem-test-recipes.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { packedTarball } from '../../test/cli/packed.ts';
import { installed, ofFrameworks } from '../../test/docs/guide/chapters.ts';
import { writeCommands } from '../../test/docs/guide/project.ts';
import { root } from '../../test/files.ts';
import { folder } from '../../test/recipes/folder.ts';
import { readManifest } from '../bundle.ts';
import { run } from '../run.ts';
import { installNode, Shell, type Suite } from './shell.ts';

const sources = join(root, 'test/recipes');

/** Installs the frameworks, and unpacks the package beside them. What it depends on is that of this repository. */
async function install(): Promise<void> {
  const pinned = readManifest(sources).dependencies;
  const missing = installed(ofFrameworks).filter((name) => pinned[name] === undefined);
  if (missing.length > 0) throw new Error(`test/recipes/package.json lacks ${missing.join(', ')}`);
  const shell = new Shell(folder);
  cpSync(join(sources, 'package.json'), join(folder, 'package.json'));
  // Their scripts would download and compile.
  await shell.install(join(sources, 'package-lock.json'), `${installNode} --ignore-scripts`);
  const modules = join(folder, 'node_modules');
  const { dependencies, optionalDependencies } = readManifest(root);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const link = join(modules, name);
    rmSync(link, { recursive: true, force: true });
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  const own = join(modules, 'tandem-rpc');
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  await run('tar', ['-xzf', await packedTarball(), '-C', own, '--strip-components=1']);
  writeCommands(join(folder, 'commands'), join(own, 'dist/src/cli/main.js'));
}

let whole: Promise<void> | undefined;

const suffix = '.recipe.ts';
const files = readdirSync(sources).filter((name) => name.endsWith(suffix));
const pages = ofFrameworks.map((page) => basename(page, '.md'));
const names = new Set([...files.map((name) => basename(name, suffix)), ...pages]);

async function play(name: string): Promise<void> {
  whole ??= install();
  await whole;
  const args = [
    '--import',
    'tsx',
    '--test',
    '--test-reporter=spec',
    join(sources, `${name}${suffix}`),
  ];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error(`failed with ${status}`);
}

/** By the names of the pages. */
export const recipes: Readonly<Record<string, Suite>> = Object.fromEntries(
  Array.from(names, (name) => [name, { needs: {}, run: () => play(name) }]),
);
