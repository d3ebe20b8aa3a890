/** Runs the command line as a process, the way a person does. */
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { modulePath, nodeFlags, root } from '../files.ts';
import { patienceVariables } from '../patience.ts';
import { postJson } from '../post-json.ts';

export { fixture } from '../files.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process with its output so far, and a way to wait for more of it. */
export class Running {
  readonly child: ChildProcess;
  readonly exit: Promise<Exit>;
  stdout = '';
  stderr = '';
  #ended = false;

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      child.emit('output');
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      child.emit('output');
    });
    this.exit = once(child, 'close').then(([code, signal]) => {
      this.#ended = true;
      child.emit('output');
      const { stdout, stderr } = this;
      return { code: code as number | null, signal: signal as Exit['signal'], stdout, stderr };
    });
  }

  /** The match of `pattern` as soon as that stream has it; fails when the process ends before. */
  async seen(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this[stream]);
      if (match !== null) return match;
      if (this.#ended) {
        throw new Error(`ended without ${pattern} on ${stream}:\n${this.stdout}\n${this.stderr}`);
      }
      await once(this.child, 'output');
    }
  }
}

/** The environment without what the machine that runs the tests may have set. */
export function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => name !== 'PORT' && name !== 'NODE_ENV' && !name.startsWith('TANDEM_'),
  );
  return { ...Object.fromEntries(inherited), ...patienceVariables, ...env };
}

function start(args: string[], env: NodeJS.ProcessEnv): Running {
  return new Running(spawn(process.execPath, args, { cwd: root, env: cleanEnvironment(env) }));
}

/** A file in TypeScript, from the sources: what people run so. */
export function startNode(args: string[], env: NodeJS.ProcessEnv = {}): Running {
  return start(['--import', 'tsx', ...args], env);
}

/** A module of the repository, in the form of this run. */
export function startModule(path: string, args: string[], env: NodeJS.ProcessEnv = {}): Running {
  return start([...nodeFlags, modulePath(path), ...args], env);
}

export function startCli(args: string[], env: NodeJS.ProcessEnv = {}): Running {
  return startModule('src/cli/main.ts', args, env);
}

export function runCli(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Exit> {
  return startCli(args, env).exit;
}

/** Starts `tandem serve` on a free port, with one worker and no spare, and waits until it listens. */
export async function startServer(args: string[], env: NodeJS.ProcessEnv = {}) {
  const few = ['--port', '0', '--workers', '1', '--spare-workers', '0'];
  const server = startCli(['serve', ...few, ...args], env);
  return { server, url: await urlOf(server) };
}

/** The address of `tandem serve`, once all its processes serve: without a terminal, one line of the log says so. */
export async function urlOf(server: Running): Promise<string> {
  const [, url = ''] = await server.seen('stderr', /"event":"serving","url":"([^"]*)"/);
  return url;
}

/** Whether `startOnTerminal` can be used. */
export const hasTerminal: boolean = spawnSync('script', ['--version']).status === 0;

/**
 * Starts a line of a shell on a terminal of its own. What it writes, to stderr too, comes on stdout; what is written to
 * its stdin is typed: \x03 is Ctrl+C.
 */
export function startOnTerminal(line: string, options: SpawnOptions = {}): Running {
  const env = { ...(options.env ?? cleanEnvironment({})), SHELL: '/bin/sh' };
  return new Running(spawn('script', ['-qefc', line, '/dev/null'], { ...options, env }));
}

/** @returns what the body of the answer holds */
export async function ask(url: string, body: unknown): Promise<unknown> {
  return (await postJson(url, body)).json();
}
