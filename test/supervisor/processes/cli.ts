/** The command line as it is installed: compiled, and run by node alone. */
import { type StdioOptions, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, type TestContext } from 'node:test';
import { quote } from '../../../src/cli/banner.ts';
import { Running, startOnTerminal, urlOf } from '../../cli/process.ts';
import { Compiled, compiledTree, userEnvironment } from '../../compiled.ts';
import { fixture } from '../../files.ts';
import { patienceVariables } from '../../patience.ts';

export const service = fixture('supervisor/service.mjs');

export interface Started {
  readonly server: Running;
  readonly url: string;
}

export class CompiledCli extends Compiled {
  /** Starts `tandem serve`. */
  run(args: readonly string[], env: NodeJS.ProcessEnv = {}, stdio: StdioOptions = 'pipe'): Running {
    const [node, ...rest] = this.#command(args);
    return new Running(spawn(node, rest, { env: cleanEnvironment(env), stdio }));
  }

  /** Starts it on a terminal, but for what `redirect` sends elsewhere. */
  runOnTerminal(args: readonly string[], redirect: string): Running {
    const line = this.#command(args).map(quote).join(' ');
    return startOnTerminal(`${line} ${redirect}`, { env: cleanEnvironment({}) });
  }

  /** Starts it where no process may have more than `limit` files open. */
  runWithin(limit: number, args: readonly string[]): Running {
    const shell = ['-c', 'ulimit -n "$0" && exec "$@"', String(limit), ...this.#command(args)];
    return new Running(spawn('sh', shell, { env: cleanEnvironment({}) }));
  }

  /** Starts it in a control group. @param group its folder */
  runInGroup(group: string, args: readonly string[]): Running {
    const shell = ['-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', group, ...this.#command(args)];
    return new Running(spawn('sh', shell, { env: cleanEnvironment({}) }));
  }

  #command(args: readonly string[]): [string, ...string[]] {
    const main = join(this.tree, 'src/cli/main.js');
    const common = ['--workers', '1', '--spare-workers', '0', '--cors-origin', 'none'];
    return [process.execPath, main, 'serve', ...common, ...args];
  }

  /** Starts it with the procedures of `service`, and waits until all processes serve. */
  async serve(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Started> {
    const server = this.run([service, ...args], env);
    return { server, url: await urlOf(server) };
  }

  /** Starts it with modules of one test, on any free port. */
  async serveFor(
    t: TestContext,
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ): Promise<Started> {
    const server = this.run(['--port', '0', ...args], env);
    endWith(t, server);
    return { server, url: await urlOf(server) };
  }

  /** One for the tests of a file. */
  static async suite(): Promise<CompiledCli> {
    const cli = new CompiledCli(await compiledTree());
    after(() => cli.remove());
    return cli;
  }
}

/** Calls that have been accepted end within this on a busy machine too. A test about the end of the grace time has a flag of its own. */
const graceVariable = { TANDEM_SHUTDOWN_GRACE: '2m' } as const;

function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { PORT: _port, ...rest } = userEnvironment();
  return { ...rest, ...patienceVariables, ...graceVariable, ...env };
}

/** What a client of the admin socket gets that writes `line`. */
export function written(path: string, line: string): Promise<string> {
  const socket = connect(path);
  socket.write(line);
  return text(socket);
}

/** Ends a server with its test, whatever became of that: its processes end with it. */
export function endWith(t: TestContext, server: Running): void {
  t.after(async () => {
    server.child.kill('SIGKILL');
    await server.exit;
  });
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly process?: number;
  readonly serverPid?: number;
  readonly retryMs?: number;
  readonly [field: string]: unknown;
}

/** What has been logged so far. */
export function logOf(server: Running): LogLine[] {
  return server.stderr
    .split('\n')
    .slice(0, -1) // behind the last line break: a line of which the rest has not come
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as LogLine);
}

/** The lines of a message, once there are `count` of them. */
export async function logged(server: Running, message: RegExp, count = 1): Promise<LogLine[]> {
  for (;;) {
    const lines = logOf(server).filter(({ msg }) => message.test(msg));
    if (lines.length >= count) return lines;
    // Any further output; fails when the server has ended.
    const { length } = server.stderr;
    await server.seen('stderr', new RegExp(`^[^]{${length + 1}}`));
  }
}

/** Whether a process runs: one that has ended may wait for long until somebody takes notice. */
export function isAlive(pid: number): boolean {
  try {
    // Behind the name, which may hold anything: the state.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
