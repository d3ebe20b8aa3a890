import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Compiled } from '../../compiled.ts';
import type { Usage } from '../../fixtures/faults/soak-server.ts';
import { orHang } from '../../or-hang.ts';

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** What the pool of the server tells of itself. */
export interface PoolFacts {
  readonly workers: readonly { readonly inFlight: number }[];
  /** undefined: it takes no calls now. */
  readonly express: { readonly inFlight: number } | undefined;
  readonly spares: number;
  readonly queued: number;
}

/** The server as a process, and its control line: commands and answers, in any order. */
export class Server {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #url: Promise<string>;
  /** Rejects when the server ends. */
  readonly #end: Promise<never>;
  #asked = 0;
  #hasEnded = false;

  /** @param env beside the environment of this process */
  constructor(compiled: Compiled, startTimeoutMs: number, env: Readonly<Record<string, string>>) {
    const args = [compiled.folder, String(startTimeoutMs)];
    const child = compiled.start('test/fixtures/faults/soak-server.ts', args, env);
    this.#child = child;
    const lines = createInterface(child.stdout);
    const url = once(lines, 'line').then(([line]) => {
      lines.on('line', (text) => this.#read(text));
      return JSON.parse(line as string) as string;
    });
    this.#end = once(child, 'exit').then(([code, signal]) => {
      this.#hasEnded = true;
      const error = new Error(`the server has ended (${signal ?? code})`);
      for (const pending of this.#pending.values()) pending.reject(error);
      throw error;
    });
    this.#end.catch(() => {});
    this.#url = orHang('the start of the server', Promise.race([url, this.#end]));
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  url(): Promise<string> {
    return this.#url;
  }

  #read(text: string): void {
    const { id, result, error } = JSON.parse(text) as {
      id: number;
      result?: unknown;
      error?: string;
    };
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error === undefined) pending?.resolve(result);
    else pending?.reject(new Error(error));
  }

  /** @throws Error what the command threw, that it hangs, or that the server has ended */
  tell(command: string, argument?: string): Promise<unknown> {
    const id = ++this.#asked;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
    if (!this.#hasEnded) this.#child.stdin?.write(`${JSON.stringify({ id, command, argument })}\n`);
    return orHang(command, Promise.race([answer, this.#end]));
  }

  async pool(): Promise<PoolFacts> {
    return ((await this.tell('stats')) as { pool: PoolFacts }).pool;
  }

  usage(): Promise<Usage> {
    return this.tell('usage') as Promise<Usage>;
  }

  /** Two workers and their spare are there. */
  async whole(): Promise<void> {
    for (let facts = await this.pool(); facts.workers.length < 2 || facts.spares < 1; ) {
      await pause(5);
      facts = await this.pool();
    }
  }

  async ended(): Promise<void> {
    await orHang('the end of the server', this.#end).catch(() => {});
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
