/**
 * Runs command lines one after another in one process, for CommandLine (command-line.ts): a process of its own takes each
 * command a third of a second of CPU, and what it does there some milliseconds.
 */
import { runCli } from '../../src/cli/program.ts';
import type { Exit } from './process.ts';

export interface CommandRequest {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Ends a command where it would have ended its process. */
class Ended extends Error {}

type Written = (chunk: unknown, ...rest: readonly unknown[]) => boolean;

/** What the command that runs has written so far, and its exit code once it has ended: then it writes no more. */
let current: { stdout: string; stderr: string; code: number | undefined } | undefined;

function into(name: 'stdout' | 'stderr'): Written {
  return (chunk, ...rest) => {
    if (current !== undefined && current.code === undefined) current[name] += String(chunk);
    const done = rest.at(-1);
    if (typeof done === 'function') done();
    return true;
  };
}

for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = into(name);
  // Each run adds a listener for its errors.
  process[name].setMaxListeners(0);
}
const exit = process.exit.bind(process);
process.exit = (code) => {
  if (current !== undefined) current.code ??= Number(code ?? process.exitCode ?? 0);
  throw new Ended();
};

async function run({ args, env }: CommandRequest): Promise<Exit> {
  const made: NonNullable<typeof current> = { stdout: '', stderr: '', code: undefined };
  current = made;
  process.env = { ...env };
  try {
    await runCli([process.execPath, 'tandem', ...args]);
    made.code ??= Number(process.exitCode ?? 0);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  }
  process.exitCode = undefined;
  return { code: made.code ?? null, signal: null, stdout: made.stdout, stderr: made.stderr };
}

process.on('message', (request: CommandRequest) => {
  void run(request).then((exit) => process.send?.(exit));
});
process.on('disconnect', () => exit());
