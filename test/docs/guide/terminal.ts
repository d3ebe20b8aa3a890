import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cleanEnvironment, Running, startOnTerminal } from '../../cli/process.ts';
import type { Project } from './project.ts';
import { printedPattern, type Step } from './story.ts';

/** A command that prints where it listens goes on: the commands behind it are typed into another terminal. */
const listens =
  /(?:(?:listen(?:s|ing) (?:on|at)|Local:) +https?:\/\/|Listening for client connections on )[\d.a-z]+:(\d+)/;
const lastOfBanner = /\nReady in .*\r\n/;
/** Ctrl+C, as a terminal shows it. */
const interrupt = /^\^C\n?/m;

/** Commands of all terminals that run. A group of its own outlives this process unless it is told: the runner ends a file that hangs. */
const alive = new Set<Running>();
process.once('exit', () => {
  for (const server of alive) signalGroup(server, 'SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

interface Server {
  readonly running: Running;
  /** The port of the page. */
  readonly port: string;
  readonly isOnTerminal: boolean;
}

/** Plays the story of one page, as a reader does who types it. Ports are free ones in place of those of the page. */
export class Terminal {
  readonly #project: Project;
  #folder: string;
  readonly #env: Record<string, string> = {};
  readonly #files = new Map<string, string>();
  readonly #servers: Server[] = [];
  /** The ports of the page, and those that serve in their place. */
  readonly #ports: Map<string, string>;

  /**
   * @param isMade whether the folder is a project already; else the page makes it one
   * @param ports of servers that run before the page begins: those of the page, and the real ones
   */
  constructor(
    project: Project,
    page: string,
    isMade: boolean,
    ports: readonly (readonly [page: string, real: string])[] = [],
  ) {
    this.#project = project;
    this.#ports = new Map(ports);
    this.#folder = join(project.folder, page);
    mkdirSync(this.#folder);
    if (!isMade) return;
    this.#write('package.json', '{"type":"module"}');
    // What readers copy from there lies in their own folder.
    symlinkSync(join(project.folder, 'node_modules'), join(this.#folder, 'node_modules'));
  }

  /** The real port of a server that the page started on this one. */
  portOf(page: string): string {
    const real = this.#ports.get(page);
    if (real === undefined) throw new Error(`the page has no server on port ${page}`);
    return real;
  }

  async play(step: Step): Promise<void> {
    if (step.kind === 'file') return this.#write(step.name, step.text);
    const { line, printed } = step;
    const set = /^export (\w+)=(.*)$/.exec(line);
    const folder = /^cd (\S+)$/.exec(line)?.[1];
    if (set !== null) {
      this.#env[set[1] as string] = this.#withPorts(set[2] as string).replace(/^'|'$/g, '');
    } else if (folder !== undefined) this.#folder = join(this.#folder, folder);
    else if (listens.test(printed)) await this.#serve(line, printed);
    else await this.#run(line, printed);
  }

  async close(): Promise<void> {
    for (const server of this.#servers) end(server, 'SIGKILL');
    await Promise.all(this.#servers.map(({ running }) => running.exit));
  }

  #write(name: string, text: string): void {
    this.#files.set(name, text);
    const path = join(this.#folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, this.#withPorts(text));
  }

  #withPorts(text: string): string {
    let changed = text;
    for (const [page, real] of this.#ports) changed = changed.replaceAll(`:${page}`, `:${real}`);
    return changed;
  }

  #asOnPage(text: string): string {
    let changed = text.replaceAll('\r\n', '\n');
    for (const [page, real] of this.#ports) changed = changed.replaceAll(`:${real}`, `:${page}`);
    return changed;
  }

  #start(line: string, needsTerminal = false): Running {
    const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, ...env } = cleanEnvironment({});
    const options = {
      cwd: this.#folder,
      // A group of its own: npx passes no signal on to what it starts.
      detached: true,
      env: {
        ...env,
        ...this.#project.env,
        PORT: '0',
        TANDEM_WORKERS: '1',
        TANDEM_SPARE_WORKERS: '0',
        // The pages leave the log out.
        TANDEM_LOG_LEVEL: 'silent',
        NO_COLOR: '1',
        ...this.#env,
      },
    };
    const started = needsTerminal
      ? startOnTerminal(line, options)
      : new Running(
          spawn('sh', ['-c', `exec 2>&1; ${line}`], {
            ...options,
            stdio: ['ignore', 'pipe', 'pipe'],
          }),
        );
    alive.add(started);
    void started.exit.then(() => alive.delete(started));
    return started;
  }

  /** Runs a command that ends. Where nothing is printed on the page, it must succeed. */
  async #run(line: string, printed: string): Promise<void> {
    const { code, stdout } = await this.#start(this.#withPorts(line)).exit;
    // Comments of an event stream come where its first value takes its time.
    const output = this.#asOnPage(stdout)
      .replace(/^:.*\n\n/gm, '')
      .trimEnd();
    if (printed === '') assert.equal(code, 0, `${line}\n${output}`);
    else assert.match(output, printedPattern(printed), line);
  }

  /** Starts a server in place of one on the same port, and waits for what it prints; behind `^C` for its end. */
  async #serve(line: string, printed: string): Promise<void> {
    const [before = '', after] = printed.split(interrupt);
    const port = listens.exec(before)?.[1] ?? '';
    const earlier = this.#servers.find((server) => server.port === port);
    if (earlier !== undefined) await this.#stop(earlier, 'SIGTERM');
    // In place of the shell, so that signals reach it.
    // Any port: 0 for this package, -1 for the server of NATS.
    const anywhere = line.replace(/--port \d+/, '--port 0').replace(/-p \d+/, '-p -1');
    const command = `exec env ${anywhere}`;
    const hasBanner = /^tandem \S+ listens on /m.test(before);
    const running = this.#start(this.#withPorts(command), hasBanner);
    const server = { running, port, isOnTerminal: hasBanner };
    this.#servers.push(server);
    const [, real = ''] = await running.seen('stdout', listens);
    this.#ports.set(port, real);
    for (const [name, text] of this.#files) {
      if (text.includes(`:${port}`)) this.#write(name, text);
    }
    if (hasBanner) await running.seen('stdout', lastOfBanner);
    assert.match(this.#asOnPage(running.stdout).trimEnd(), printedPattern(before), line);
    if (after === undefined) return;
    await this.#stop(server, 'SIGINT');
    assert.ok(running.stdout.trimEnd().endsWith(after.trimEnd()), running.stdout);
  }

  async #stop(server: Server, signal: NodeJS.Signals): Promise<void> {
    end(server, signal);
    await server.running.exit;
    this.#servers.splice(this.#servers.indexOf(server), 1);
  }
}

/** Ends a server as its user does: on a terminal by Ctrl+C. */
function end({ running, isOnTerminal }: Server, signal: NodeJS.Signals): void {
  if (isOnTerminal) running.child.stdin?.write('\x03');
  else signalGroup(running, signal);
}

/** As Ctrl+C does: a command and all that it has started get the signal. */
function signalGroup({ child }: Running, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid as number), signal);
  } catch {
    // It has ended by itself.
  }
}
