import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

interface LogLine {
  readonly event?: string;
  readonly url?: string;
  readonly level?: string;
}

/** A process of the command line, as an operator starts it. */
export class Tandem {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Resolves when it serves. @throws Error with what it said, where it ends before */
  static async start(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Tandem> {
    // With the flags of this process, which load TypeScript where it is not compiled.
    const command = [...process.execArgv, main, ...args, '--no-supervisor'];
    const child = spawn(process.execPath, command, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    });
    const said: string[] = [];
    const ready = new Promise<string>((resolve) => {
      createInterface({ input: child.stderr }).on('line', (line) => {
        said.push(line);
        const { event, url = '' } = parse(line);
        if (event === 'ready') resolve(url);
      });
    });
    const ended = once(child, 'exit').then(() => undefined);
    const url = await Promise.race([ready, ended]);
    if (url === undefined) throw new Error(`tandem ${args.join(' ')} ended:\n${said.join('\n')}`);
    return new Tandem(child, url);
  }

  /** Lets it drain. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }
}

/** Lines that are no JSON are for people. */
function parse(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return {};
  }
}
