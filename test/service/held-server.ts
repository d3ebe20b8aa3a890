import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ConfigOptions, DispatcherOptions, RpcApp } from '../../src/index.ts';
import { inReverse, type StartedApp, startApp } from '../harness.ts';
import { post, type RawClient } from '../http/raw-client.ts';
import { until } from '../turns.ts';
import { Journal } from './journal.ts';
import { fixture } from './running.ts';

export interface Answer {
  readonly result?: string;
  readonly error?: { readonly code: number; readonly data?: { readonly retryAfterMs?: number } };
}

/** A server with one worker that calls hold until the test lets them go. */
export class HeldServer {
  readonly journal: Journal;
  readonly app: RpcApp;
  readonly #free: RawClient[] = [];
  readonly #connect: () => RawClient;
  readonly #header: string;

  private constructor(journal: Journal, { app, client }: StartedApp, header: string) {
    this.journal = journal;
    this.app = app;
    this.#connect = client;
    this.#header = header;
  }

  /** @param header names the caller of each request */
  static async start(
    t: TestContext,
    options: ConfigOptions & DispatcherOptions = {},
    header = 'authorization',
  ): Promise<HeldServer> {
    const journal = new Journal();
    const own = inReverse(t);
    own.after(() => journal.remove());
    const started = await startApp(own, {
      modules: [fixture('procedures.ts'), fixture('costly.ts')],
      // A worker that is held here is not stuck.
      maxRequestMs: 600_000,
      authenticate: ({ headers }) => ({ sub: headers.authorization ?? '' }),
      ...options,
    });
    const server = new HeldServer(journal, started, header);
    own.after(() => server.release());
    // The service knows what they cost.
    for (let i = 0; i < 10; i++) {
      await server.call('warm', 'warm');
      await server.call('warm', 'warm', 'oneAtATime');
    }
    journal.clear();
    return server;
  }

  /** What the caller gets for a call that writes `text` when it runs. */
  async call(caller: string, text: string, method = 'costly'): Promise<Answer> {
    const answer = await this.send(caller, this.request(text, method));
    return answer as Answer;
  }

  request(text: string, method = 'costly') {
    return { jsonrpc: '2.0', method, params: { file: this.journal.file, text }, id: text };
  }

  /** On a connection of its own, or one that has its answer. */
  async send(caller: string, body: unknown): Promise<unknown> {
    const client = this.#free.pop() ?? this.#connect();
    const reply = await client.ask(post(JSON.stringify(body), { [this.#header]: caller }));
    this.#free.push(client);
    return JSON.parse(reply.body.toString());
  }

  /** Calls that wait for the worker. */
  get queued(): number {
    return this.app.dispatcher.stats().pool?.queued ?? 0;
  }

  /** A caller has `count` calls outstanding, and all of them wait, but for those that went to the held worker. */
  async crowd(caller: string, count: number, method?: string): Promise<Promise<Answer>[]> {
    const { inFlight } = this;
    const calls = Array.from({ length: count }, (_, i) =>
      this.call(caller, `${caller}${i}`, method),
    );
    await until(() => this.inFlight >= inFlight + count);
    return calls;
  }

  get inFlight(): number {
    return this.app.dispatcher.stats().inFlight;
  }

  /** The worker stays in a call until `release`. */
  async holdWorker(): Promise<{ readonly reply: Promise<Answer> }> {
    const reply = this.call('holder', 'held', 'hold');
    await until(() => this.journal.lines().some((line) => line.startsWith('held begins')));
    return { reply };
  }

  release(): void {
    this.journal.release();
  }

  /** The texts of the calls that ran, in that order. */
  get ran(): string[] {
    return this.journal.lines().filter((line) => !line.includes(' '));
  }
}

export function resultsOf(answers: readonly Answer[]): (string | undefined)[] {
  return answers.map(({ result }) => result);
}

/** How many of the greedy caller's calls ran before a call of another one. */
export function greedyBefore(ran: readonly string[], text: string): number {
  return ran.slice(0, ran.indexOf(text)).filter((other) => other.startsWith('greedy')).length;
}

const outstanding = 200;

/** How callers are told apart, and what is called. */
export interface Way {
  readonly what: string;
  readonly method?: string;
  readonly options?: ConfigOptions;
  readonly header?: string;
}

/** A test of another's call beside those of a greedy caller. */
export function comesBeforeGreedy({ what, method = 'costly', options = {}, header }: Way): void {
  test(`beside 200 outstanding calls of one caller, another's call comes before the third next, ${what}`, async (t) => {
    const server = await HeldServer.start(t, options, header);
    const [greedyName, politeName] =
      options.fairBy === 'address' ? ['192.0.2.1', '192.0.2.2'] : ['greedy', 'polite'];
    const { reply: held } = await server.holdWorker();
    const greedy = await server.crowd(greedyName, outstanding, method);
    const before = server.queued;
    const polite = server.call(politeName, 'polite', method);
    await until(() => server.queued > before);
    server.release();
    assert.equal((await polite).result, 'polite');
    assert.deepEqual(
      resultsOf(await Promise.all(greedy)),
      Array.from({ length: outstanding }, (_, i) => `${greedyName}${i}`),
    );
    await held;
    // What had gone to the worker's thread before can't be overtaken.
    const sentBefore = outstanding - before;
    const at = server.ran.indexOf('polite');
    assert.ok(at <= sentBefore + 2, server.ran.slice(0, at + 1).join(' '));
  });
}
