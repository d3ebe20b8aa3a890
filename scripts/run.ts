import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Longest run; the first run of some downloads takes minutes. Default: 10 minutes. */
  readonly timeoutMs?: number;
}

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end, beside other work of this process.
 *
 * @throws Error with all that it printed, if it does not exit with 0
 */
export async function run(
  command: string,
  args: readonly string[],
  { cwd, env = process.env, timeoutMs = 600_000 }: RunOptions,
): Promise<Printed> {
  const maxBuffer = 64 * 1024 * 1024;
  // npm is a .cmd file on Windows: it needs the shell.
  const shell = process.platform === 'win32';
  return promisify(execFile)(command, args, {
    cwd,
    env,
    timeout: timeoutMs,
    maxBuffer,
    shell,
  }).catch(({ message, stdout, stderr }: Error & Printed) => {
    throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr === '' ? message : stderr}`);
  });
}
