import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after } from 'node:test';
import { modulePath, nodeFlags, root } from '../files.ts';
import type { CommandRequest } from './command-host.ts';
import { cleanEnvironment, type Exit } from './process.ts';

/**
 * Runs commands one after another in one process, which the suites of this process share. For those that read no stdin, start no server and
 * wait for no signal: runCli and startCli (process.ts) give each a process of its own.
 */
export class CommandLine {
  static #shared = new CommandLine();
  /** Suites that have not ended. */
  static #suites = 0;
  #host: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** Its process ends with the last suite. */
  static suite(): CommandLine {
    const shared = CommandLine.#shared;
    CommandLine.#suites++;
    after(() => {
      if (--CommandLine.#suites > 0) return;
      shared.#host?.disconnect();
      CommandLine.#shared = new CommandLine();
    });
    return shared;
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
