/**
 * `npm run test:recipes [-- NAME...]`: plays the recipes of docs/recipes with frameworks that this project does not have, with the
 * packed package. Their packages are pinned in test/recipes by a lock file, and installed in ~/.cache/tandem-test-recipes. Names are those of the
 * pages: `npm run test:recipes -- model`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../src/core/base/message-of.ts';
import { packedTarball } from '../test/cli/packed.ts';
import { installed, ofFrameworks } from '../test/docs/guide/chapters.ts';
import { writeCommands } from '../test/docs/guide/project.ts';
import { folder } from '../test/recipes/folder.ts';
import { findPostgres } from '../test/recipes/postgres-server.ts';
import { fail } from './arguments.ts';
import { installNode, Shell } from './languages/shell.ts';

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const sources = join(root, 'test/recipes');
const suffix = '.recipe.ts';
const known = readdirSync(sources)
  .filter((file) => file.endsWith(suffix))
  .map((file) => basename(file, suffix));

/** @returns the tests that are asked for; all, if none is named */
function chosen(names: readonly string[]): readonly string[] {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) fail(`${unknown}: no such recipe; there are ${known.join(', ')}`);
  return names.length === 0 ? known : names;
}

/** Before anything is installed: what is missing, by name. */
function assertWhole(asked: readonly string[]): void {
  const { dependencies } = JSON.parse(readFileSync(join(sources, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const missing = installed(ofFrameworks)
    .filter((name) => dependencies[name] === undefined)
    .map((name) => `${name}: a recipe installs it, and test/recipes/package.json does not`);
  const untested = ofFrameworks
    .map((page) => basename(page, '.md'))
    .filter((name) => !known.includes(name))
    .map((name) => `${name}: test/recipes/${name}${suffix} is missing`);
  missing.push(...untested);
  if (asked.includes('postgres') && findPostgres() === undefined) {
    missing.push(
      'postgres: the server of PostgreSQL is missing. Install postgresql (Debian, Ubuntu, Homebrew)',
    );
  }
  if (missing.length > 0) fail(missing.join('\n'));
}

/** Their scripts would download and compile. */
async function installFrameworks(): Promise<void> {
  const shell = new Shell(folder);
  cpSync(join(sources, 'package.json'), join(folder, 'package.json'));
  await shell.install(join(sources, 'package-lock.json'), `${installNode} --ignore-scripts`);
}

/** Unpacks the package beside the frameworks. What it depends on is that of this repository. */
async function installPackage(): Promise<void> {
  const tarball = await packedTarball();
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'optionalDependencies', Record<string, string>>;
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const link = join(folder, 'node_modules', name);
    rmSync(link, { recursive: true, force: true });
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  const own = join(folder, 'node_modules/tandem-rpc');
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
  writeCommands(join(folder, 'commands'), join(own, 'dist/src/cli/main.js'));
}

const asked = chosen(process.argv.slice(2));
assertWhole(asked);
try {
  await installFrameworks();
  await installPackage();
  const files = asked.map((name) => join(sources, name + suffix));
  const flags = '--import tsx --test --test-concurrency=2 --test-reporter=spec';
  const args = [...flags.split(' '), ...files];
  const [code] = await once(spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }), 'exit');
  process.exitCode = code ?? 1;
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
