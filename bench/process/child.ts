import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Request, type Response, readyId, type Usage } from './protocol.ts';

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly nodeFlags?: readonly string[];
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A process of the benchmark, as seen by the process that started it. */
export class Child {
  static readonly #running = new Set<Child>();
  readonly #process: ChildProcess;
  readonly #name: string;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = readyId;
  #error: Error | undefined;
  #ready: unknown;

  private constructor(name: string, child: ChildProcess) {
    this.#name = name;
    this.#process = child;
    child.on('message', (message) => this.#onMessage(message as Response));
    Child.#running.add(this);
    child.on('exit', (code, signal) => {
      Child.#running.delete(this);
      this.#fail(`ended (${signal ?? code})`);
    });
    child.on('error', (error) => this.#fail(error.message));
  }

  /**
   * @param module a path below bench/, without its extension: like this file, the module runs compiled or through tsx
   * @throws Error where the process ends before it is ready
   */
  static async start(module: string, options: ChildOptions = {}): Promise<Child> {
    const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
    const file = fileURLToPath(new URL(`../${module}${extension}`, import.meta.url));
    const child = fork(file, [...(options.args ?? [])], {
      execArgv: [...process.execArgv, ...(options.nodeFlags ?? [])],
      // Every subject runs as it would in production; several libraries ask for this variable.
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    const started = new Child(module, child);
    started.#ready = await new Promise((resolve, reject) => {
      started.#waiting.set(readyId, { resolve, reject });
    });
    return started;
  }

  /** Stops all processes, after a run that failed half-way. */
  static async stopAll(): Promise<void> {
    await Promise.all([...Child.#running].map((child) => child.stop()));
  }

  /** What the process reported when it was ready. */
  get ready(): unknown {
    return this.#ready;
  }

  /** Sends a command. The result is cast, not checked: both ends of the channel are in this folder. */
  async call<Result>(command: string, argument?: unknown): Promise<Result> {
    if (this.#error !== undefined) throw this.#error;
    const request: Request = { id: ++this.#lastId, command, argument };
    const answer = new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
    });
    this.#process.send(request);
    return (await answer) as Result;
  }

  usage(): Promise<Usage> {
    return this.call('usage');
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.disconnect();
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 3000);
    await gone;
    clearTimeout(timer);
  }

  #onMessage(message: Response): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('error' in message) waiting?.reject(new Error(`${this.#name}: ${message.error}`));
    else waiting?.resolve(message.value);
  }

  #fail(why: string): void {
    this.#error ??= new Error(`${this.#name}: ${why}`);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#error);
    this.#waiting.clear();
  }
}
