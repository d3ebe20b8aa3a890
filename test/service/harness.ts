import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { after, before, beforeEach, type TestContext } from 'node:test';
import {
  Dispatcher,
  type DispatcherOptions,
  type DispatchOptions,
  type Log,
} from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { patience } from '../patience.ts';
import { Journal } from './journal.ts';

export function fixture(name: string): string {
  return moduleUrl(`test/fixtures/service/${name}`);
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A log that keeps its lines. */
export function recorder(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write =
    (level: LogLine['level']) =>
    (fields: LogLine['fields'], message: string): void => {
      lines.push({ level, fields, message });
    };
  const log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  return { log, lines };
}

/** A dispatcher of the procedures in test/fixtures/service, with a journal for them to write in. */
export class Running {
  readonly dispatcher: Dispatcher;
  readonly journal = new Journal();
  readonly lines: LogLine[];

  private constructor(options: DispatcherOptions) {
    const { log, lines } = recorder();
    this.lines = lines;
    this.dispatcher = new Dispatcher({
      modules: [fixture('procedures.ts')],
      workers: 1,
      spareWorkers: 0,
      // Other processes on the machine must not keep a worker from answering.
      niceIncrement: 0,
      ...patience,
      log,
      ...options,
    });
  }

  /** Starts before the first test of a suite, and ends after its last; the journal is new for each. */
  static suite(options: DispatcherOptions = {}): Running {
    const running = new Running(options);
    before(() => running.dispatcher.ready());
    beforeEach(() => {
      running.journal.clear();
      rmSync(running.#gate, { force: true });
    });
    after(() => running.#end());
    return running;
  }

  /** One for a test of its own, not started. */
  static make(t: TestContext, options: DispatcherOptions = {}): Running {
    const running = new Running(options);
    t.after(() => running.#end());
    return running;
  }

  async #end(): Promise<void> {
    this.release();
    await this.dispatcher.close(0);
    this.journal.remove();
  }

  get #gate(): string {
    return `${this.journal.file}.go`;
  }

  /** Calls a procedure that takes a file and a text; the reply as it came. */
  call(method: string, text: string, options: DispatchOptions = {}): Promise<string | undefined> {
    return this.ask({ method, params: { file: this.journal.file, text }, id: text }, options);
  }

  ask(request: unknown, options: DispatchOptions = {}): Promise<string | undefined> {
    return this.dispatcher.dispatchText(JSON.stringify(request), options);
  }

  /** Lets go of every `hold`. */
  release(): void {
    writeFileSync(this.#gate, '');
  }

  get threads(): number[] {
    return this.dispatcher.stats().pool?.workers.map(({ threadId }) => threadId) ?? [];
  }

  /** The thread a call has begun on, as it wrote in the journal. */
  async begunOn(text: string, verb = 'begins'): Promise<number> {
    const prefix = `${text} ${verb} on `;
    let line: string | undefined;
    while (line === undefined) {
      line = this.journal.lines().find((other) => other.startsWith(prefix));
      if (line === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return Number(line.slice(prefix.length));
  }
}

export function ok(id: string, value: unknown): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(value)}}`;
}

function failed(id: string, code: number, message: string, data?: unknown): string {
  const error = data === undefined ? { code, message } : { code, message, data };
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(error)}}`;
}

export const cancelled = (id: string) => failed(id, -32003, 'Cancelled');
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
