import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after } from 'node:test';
import { modulePath, nodeFlags, root } from '../files.ts';
import type { CommandRequest } from './command-host.ts';
import { cleanEnvironment, type Exit } from './process.ts';

/**
 * Runs the commands of a test file one after another in one process. For those that read no stdin, start no server and
 * wait for no signal: runCli and startCli (process.ts) give each a process of its own.
 */
export class CommandLine {
  #host: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** Ends with the tests of the file. */
  static suite(): CommandLine {
    const made = new CommandLine();
    after(() => made.#host?.disconnect());
    return made;
  }

  run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Exit> {
    const exit = this.#last.then(() => this.#ask({ args, env: cleanEnvironment(env) }));
    this.#last = exit.catch(() => {});
    return exit;
  }

  async #ask(request: CommandRequest): Promise<Exit> {
    this.#host ??= spawn(process.execPath, [...nodeFlags, modulePath('test/cli/command-host.ts')], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const host = this.#host;
    const died = new AbortController();
    const onExit = (code: number | null) => died.abort(new Error(`the host ended with ${code}`));
    host.once('exit', onExit);
    try {
      host.send(request);
      const [exit] = await once(host, 'message', { signal: died.signal });
      return exit as Exit;
    } finally {
      host.off('exit', onExit);
    }
  }
}
