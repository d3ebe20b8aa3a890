import { spawnSync } from 'node:child_process';

interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Runs a command to its end.
 *
 * @returns what it printed on stdout
 * @throws Error with all that it printed, if it does not exit with 0
 */
export function run(command: string, args: readonly string[], { cwd, env }: RunOptions): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: env ?? process.env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    // npm is a .cmd file on Windows: it needs the shell.
    shell: process.platform === 'win32',
  });
  if (error) throw error;
  if (status !== 0) {
    throw new Error(`${command} ${args.join(' ')}: exit code ${status}\n${stdout}${stderr}`);
  }
  return stdout;
}

export function npm(args: readonly string[], options: RunOptions): string {
  return run('npm', args, options);
}
