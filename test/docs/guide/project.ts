import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { installPacked, packedTarball } from '../../cli/packed.ts';
import { root } from '../../files.ts';

/** The options of the project that `tandem init` writes, for the files of all pages. */
export const compilerOptions = {
  target: 'es2022',
  lib: ['es2023'],
  types: ['node'],
  module: 'nodenext',
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
};

/** A folder in which each page has a folder. */
export interface Project {
  readonly folder: string;
  /** What its commands get beside the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  remove(): void;
}

/**
 * `npx NAME` starts the installed command without npm's own half second, `npm install` finds everything installed, and
 * `npm init` and `npm pkg` are npm's own. Whatever else `npm` and `npx` are asked for is an error: the pages must not need it.
 */
export function writeCommands(folder: string, main: string): void {
  mkdirSync(folder, { recursive: true });
  const npx = `#!/bin/sh
name=$1; shift
case $name in
  tandem) exec '${process.execPath}' '${main}' "$@";;
  tsx) exec '${process.execPath}' --import tsx "$@";;
  tsc) exec '${process.execPath}' '${join(root, 'node_modules/typescript/bin/tsc')}' "$@";;
  next) exec '${join(folder, '../node_modules/.bin/next')}' "$@";;
  *) echo "npx: no $name here" >&2; exit 127;;
esac
`;
  const npm = `#!/bin/sh
case $1 in
  install) exit 0;;
  init|pkg) PATH=\${PATH#*:} exec npm "$@";;
  *) echo "npm: no $1 here" >&2; exit 127;;
esac
`;
  for (const [name, text] of Object.entries({ npx, npm })) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
}

/** Debian has nats-server where only root looks. */
const path = `${process.env.PATH}:/usr/sbin`;

/** A project that has the package as npm installs it, and commands that need no network. */
export async function createProject(): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-guide-'));
  const main = await installPacked(folder);
  const tsconfig = { compilerOptions, include: ['*/*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  const commands = join(folder, 'commands');
  writeCommands(commands, main);
  const env = { PATH: `${commands}:${path}` };
  return { folder, env, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** An empty folder with the package's tarball where a clone beside a page's folder has it, and npm as it is. */
export async function createEmptyProject(): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-newcomer-'));
  const tarball = await packedTarball();
  mkdirSync(join(folder, 'tandem-rpc'));
  copyFileSync(tarball, join(folder, 'tandem-rpc', basename(tarball)));
  const env = {
    PATH: path,
    npm_config_audit: 'false',
    // On a slow machine npx draws a spinner on the terminal.
    npm_config_progress: 'false',
    // What npm warns of beside the output, its own newer version say, is another one each month.
    npm_config_loglevel: 'error',
  };
  return { folder, env, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
