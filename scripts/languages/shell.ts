import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { root } from '../../test/files.ts';
import { run } from '../run.ts';

/** What `npm run test:languages` or `npm run test:recipes` runs. */
export interface Suite {
  /** Programs, and what brings them. */
  readonly needs: Readonly<Record<string, string>>;
  /** Installs and runs it. @throws Error with the output of what failed */
  run(): Promise<void>;
}

/** The suites are built here, each in its own folder. */
export const builds = join(root, '.build/languages');

/** Runs programs in a folder. */
export class Shell {
  readonly folder: string;
  readonly #env: NodeJS.ProcessEnv;

  /**
   * @param folder made if it is not there yet
   * @param paths where programs are found first
   */
  constructor(folder: string, paths: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    mkdirSync(folder, { recursive: true });
    this.folder = folder;
    this.#env = { ...process.env, ...env, PATH: [...paths, process.env.PATH].join(delimiter) };
  }

  /**
   * @param command its words have no spaces in them
   * @param more arguments that may have some
   * @returns what the program printed
   * @throws Error with all that it printed, if it fails
   */
  async run(command: string, ...more: readonly string[]): Promise<string> {
    const [program = '', ...words] = command.split(' ');
    const options = { cwd: this.folder, env: this.#env };
    const { stdout, stderr } = await run(program, [...words, ...more], options);
    return stdout + stderr;
  }

  /**
   * Installs what a file names, once for each content of the file.
   *
   * @param lock copied into the folder, if it lies elsewhere
   */
  async install(lock: string, ...commands: readonly string[]): Promise<void> {
    const copy = join(this.folder, basename(lock));
    if (lock !== copy) cpSync(lock, copy);
    const hash = createHash('sha256').update(readFileSync(copy)).digest('hex');
    const mark = join(this.folder, '.installed');
    if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) return;
    for (const command of commands) await this.run(command);
    writeFileSync(mark, hash);
  }
}

export const installNode = 'npm ci --no-audit --no-fund --loglevel=error';

/**
 * Programs of Python in an environment of their own.
 *
 * @param requirements the file that pins them, and what they need
 */
export async function pythonShell(
  folder: string,
  requirements: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Shell> {
  const shell = new Shell(folder, [join(folder, 'venv/bin')], env);
  const check = 'import sys, venv, ensurepip; assert sys.version_info >= (3, 11)';
  await shell.run('python3 -c', check).catch(() => {
    throw new Error(
      'Python 3.11 or newer is needed, with its module venv. Install python3-venv (Debian)',
    );
  });
  await shell.install(
    requirements,
    'python3 -m venv --clear venv',
    `pip install --quiet --disable-pip-version-check --no-deps -r ${basename(requirements)}`,
  );
  return shell;
}
