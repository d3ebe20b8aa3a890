import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Lifetime } from '../files.ts';
import { findProgram, isProgram } from '../programs.ts';

export const needs = 'needs nats-server: apt-get install nats-server, or set NATS_SERVER';

/** The program, or undefined where this machine has none. */
export function findNatsServer(env: NodeJS.ProcessEnv = process.env): string | undefined {
  if (env.NATS_SERVER !== undefined && env.NATS_SERVER !== '') {
    assert.ok(isProgram(env.NATS_SERVER), `NATS_SERVER is no program: ${env.NATS_SERVER}`);
    return env.NATS_SERVER;
  }
  return findProgram('nats-server', env);
}

/** Resolves when all threads of a process that was sent SIGSTOP stand still: each takes the signal by itself. */
export async function untilHalted(pid: number): Promise<void> {
  while (!isHalted(pid)) await nextTurn();
}

function isHalted(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks).every((task) => {
      const stat = readFileSync(join(tasks, task, 'stat'), 'utf8');
      return stat.charAt(stat.lastIndexOf(')') + 2) === 'T';
    });
  } catch {
    // A thread has ended meanwhile.
    return false;
  }
}

let ports = process.pid * 37;

/**
 * Below the ports that the system gives to clients: none of them takes the port while a server is restarted. Tests in other
 * processes begin elsewhere.
 */
function nextPort(): number {
  ports++;
  return 20_000 + (ports % 12_000);
}

interface NatsServerOptions {
  /** More of the server's configuration file. */
  readonly config?: string;
  /** Variables that the configuration names. */
  readonly env?: NodeJS.ProcessEnv;
}

/** A nats-server on a free port of 127.0.0.1, which can be stopped, killed, halted and started again on the same port. */
export class NatsServer {
  readonly #program: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'tandem-nats-'));
  #config: string;
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  port = 0;
  /** What the server has logged. */
  readonly log: string[] = [];

  private constructor(program: string, { config = '', env = {} }: NatsServerOptions) {
    this.#program = program;
    this.#config = config;
    this.#env = { ...process.env, ...env };
    process.once('exit', this.#killNow);
  }

  static async start(options: NatsServerOptions = {}): Promise<NatsServer> {
    const program = findNatsServer();
    assert.ok(program !== undefined, needs);
    const server = new NatsServer(program, options);
    for (let tries = 0; tries < 20; tries++) {
      server.port = nextPort();
      if (await server.#tryStart()) return server;
      if (!server.log.some((line) => line.includes('address already in use'))) break;
    }
    await server.close();
    return assert.fail(`nats-server did not start: ${server.log.join('\n')}`);
  }

  /** One that is closed with the test. */
  static async startFor(t: Lifetime, options: NatsServerOptions = {}): Promise<NatsServer> {
    const server = await NatsServer.start(options);
    t.after(() => server.close());
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child?.pid ?? assert.fail('the server does not run');
  }

  /** Ends it as an operator does. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Ends it as a power cut does. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Halts it: its connections stay, and nobody answers. Resolves when all of its threads stand still. */
  async pause(): Promise<void> {
    process.kill(this.pid, 'SIGSTOP');
    await untilHalted(this.pid);
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Starts it again on its port. */
  async restart(config = this.#config): Promise<void> {
    await this.kill();
    this.#config = config;
    assert.ok(await this.#tryStart(), `nats-server did not start again: ${this.log.join('\n')}`);
  }

  /** Ends it for good. Idempotent. */
  async close(): Promise<void> {
    await this.kill();
    process.removeListener('exit', this.#killNow);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  readonly #killNow = (): void => {
    this.#child?.kill('SIGKILL');
  };

  /** Resolves when it takes connections, or has ended. */
  async #tryStart(): Promise<boolean> {
    const file = join(this.#folder, 'nats.conf');
    // The last one counts: the configuration may have a `listen` of its own.
    writeFileSync(file, `${this.#config}\nlisten: "127.0.0.1:${this.port}"\n`);
    const child = spawn(this.#program, ['-c', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: this.#env,
    });
    this.#child = child;
    // Its last lines, which say why it ended, may come after the exit.
    const ended = once(child, 'close').then(() => false);
    const ready = new Promise<true>((resolve) => {
      createInterface({ input: child.stderr }).on('line', (line) => {
        this.log.push(line);
        if (line.includes('Server is ready')) resolve(true);
      });
    });
    const isReady = await Promise.race([ready, ended]);
    if (!isReady) this.#child = undefined;
    return isReady;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    // A halted process takes SIGTERM only when it goes on.
    child.kill('SIGCONT');
    await ended;
  }
}
