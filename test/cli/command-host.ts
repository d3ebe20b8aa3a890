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

const { stdout, stderr } = process;
// Each run adds a listener for the errors of both.
for (const stream of [stdout, stderr]) stream.setMaxListeners(0);

async function run({ args, env }: CommandRequest): Promise<Exit> {
  const written = { stdout: '', stderr: '' };
  let code: number | undefined;
  const into =
    (name: keyof typeof written): Written =>
    (chunk, ...rest) => {
      // A process that has ended writes no more.
      if (code === undefined) written[name] += String(chunk);
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    };
  const own = { stdout: stdout.write, stderr: stderr.write, env: process.env, exit: process.exit };
  stdout.write = into('stdout');
  stderr.write = into('stderr');
  process.env = { ...env };
  process.exit = (given) => {
    code ??= Number(given ?? process.exitCode ?? 0);
    throw new Ended();
  };
  try {
    await runCli([process.execPath, 'tandem', ...args]);
    code ??= Number(process.exitCode ?? 0);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  } finally {
    stdout.write = own.stdout;
    stderr.write = own.stderr;
    process.env = own.env;
    process.exit = own.exit;
    process.exitCode = undefined;
  }
  return { code: code ?? null, signal: null, ...written };
}

process.on('message', (request: CommandRequest) => {
  void run(request).then((exit) => process.send?.(exit));
});
process.on('disconnect', () => process.exit());
