import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail } from './arguments.ts';

const python = 'python3';
const leastMinor = 11;

/** Runs a program whose output is shown only if it fails. */
function prepare(command: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) fail(`${command} ${args.join(' ')} failed: ${error ?? stdout + stderr}`);
}

/**
 * Installs packages of Python into an environment of their own, once for each content of the file that pins them.
 *
 * @param requirements the file, which names what these packages need too
 * @param what is printed before the first installation
 */
export function installPython(folder: string, requirements: string, what: string): void {
  const { status, stdout } = spawnSync(python, ['--version'], { encoding: 'utf8' });
  const needed = `Python 3.${leastMinor} or newer is needed, as ${python} on the PATH, with its module venv`;
  if (status !== 0) fail(`${needed}: it is not there`);
  const minor = Number(/^Python 3\.(\d+)/.exec(stdout)?.[1]);
  if (!(minor >= leastMinor)) fail(`${needed}: it is ${stdout.trim()}`);
  const installed = join(folder, 'requirements.txt');
  const wanted = readFileSync(requirements, 'utf8');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return;
  console.log(`installing ${what}`);
  rmSync(folder, { recursive: true, force: true });
  prepare(python, ['-m', 'venv', folder]);
  prepare(join(folder, 'bin/pip'), ['install', '--quiet', '--no-deps', '-r', requirements]);
  writeFileSync(installed, wanted);
}
