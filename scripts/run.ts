import { type ChildProcess, execFile } from 'node:child_process';
import { constants } from 'node:os';
import { promisify } from 'node:util';

interface RunOptions {
  readonly cwd?: string;
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
  { cwd = process.cwd(), env = process.env, timeoutMs = 600_000 }: RunOptions = {},
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

/**
 * Ends this process as a child does, and hands on the signals that it gets.
 *
 * @param kill instead of each signal, for a program that does not hand them on
 */
export function endWith(child: ChildProcess, kill?: NodeJS.Signals): void {
  let given: NodeJS.Signals | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      given = signal;
      child.kill(kill ?? signal);
    });
  }
  child.on('exit', (code, ended) => {
    const signal = given ?? ended;
    process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
  });
}
