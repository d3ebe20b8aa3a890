import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import type { DispatcherOptions, DispatchOptions } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { TestService } from '../harness.ts';
import { until } from '../turns.ts';
import { Journal } from './journal.ts';

export function fixture(name: string): string {
  return moduleUrl(`test/fixtures/service/${name}`);
}

/** A dispatcher of the procedures in test/fixtures/service, with a journal for them to write in. */
export class Running extends TestService {
  readonly journal = new Journal();

  constructor(options: DispatcherOptions) {
    super({ modules: [fixture('procedures.ts')], ...options });
  }

  override reset(): void {
    this.journal.clear();
    rmSync(this.journal.gate, { force: true });
  }

  override async end(): Promise<void> {
    this.release();
    await super.end();
    this.journal.remove();
  }

  /** Calls a procedure that takes a file and a text; the reply as it came. */
  call(method: string, text: string, options: DispatchOptions = {}): Promise<string | undefined> {
    return this.ask({ method, params: { file: this.journal.file, text }, id: text }, options);
  }

  /** Lets go of every `hold`. */
  release(): void {
    this.journal.release();
  }

  /** The thread a call has begun on, as it wrote in the journal. */
  async begunOn(text: string, verb = 'begins'): Promise<number> {
    const prefix = `${text} ${verb} on `;
    const find = () => this.journal.lines().find((line) => line.startsWith(prefix));
    await until(() => find() !== undefined);
    return Number(find()?.slice(prefix.length));
  }
}

export function ok(id: string, value: unknown): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(value)}}`;
}

function failed(id: string, code: number, message: string, data?: unknown): string {
  const error = data === undefined ? { code, message } : { code, message, data };
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(error)}}`;
}

export const cancelled = (id: string) => failed(id, -32003, 'Cancelled', { retry: true });
export const expired = (id: string, timeoutMs: number) =>
  failed(id, -32001, 'Deadline exceeded', { timeoutMs });
export const lost = (id: string, reason: string) => failed(id, -32002, 'Worker lost', { reason });

/** The result of a reply's text. */
export function resultOf(reply: string | undefined): unknown {
  assert.ok(reply !== undefined);
  const parsed = JSON.parse(reply) as { result?: unknown };
  assert.ok('result' in parsed, reply);
  return parsed.result;
}

/** Whether a promise has settled by now. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}
