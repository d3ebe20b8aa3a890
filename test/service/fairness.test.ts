import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { ConfigOptions, DispatcherOptions, RpcApp } from '../../src/index.ts';
import { inReverse, type StartedApp, startApp } from '../harness.ts';
import { post, type RawClient } from '../http/raw-client.ts';
import { until } from '../turns.ts';
import { Journal } from './journal.ts';
import { fixture } from './running.ts';

const outstanding = 200;

interface Answer {
  readonly result?: string;
  readonly error?: { readonly code: number; readonly data?: { readonly retryAfterMs?: number } };
}

/** A server with one worker that calls hold until the test lets them go. */
class Server {
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
  ): Promise<Server> {
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
    const server = new Server(journal, started, header);
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
    writeFileSync(`${this.journal.file}.go`, '');
  }

  /** The texts of the calls that ran, in that order. */
  get ran(): string[] {
    return this.journal.lines().filter((line) => !line.includes(' '));
  }
}

function resultsOf(answers: readonly Answer[]): (string | undefined)[] {
  return answers.map(({ result }) => result);
}

/** How many of the greedy caller's calls ran before a call of another one. */
function greedyBefore(ran: readonly string[], text: string): number {
  return ran.slice(0, ran.indexOf(text)).filter((other) => other.startsWith('greedy')).length;
}

const proxied = { trustedProxies: '127.0.0.1' };
const ways: readonly [what: string, method: string, options: ConfigOptions, header?: string][] = [
  ['by who has logged in', 'costly', {}],
  ['at the gate of maxConcurrency', 'oneAtATime', {}],
  ['by a header of a proxy', 'costly', { ...proxied, fairBy: 'header:x-tenant' }, 'x-tenant'],
  ['by address', 'costly', { ...proxied, fairBy: 'address' }, 'x-forwarded-for'],
];
for (const [what, method, options, header] of ways) {
  test(`beside 200 outstanding calls of one caller, another's call comes before the third next, ${what}`, async (t) => {
    const server = await Server.start(t, options, header);
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

test('three callers take turns, each in its own order, and a batch runs in its order', async (t) => {
  const server = await Server.start(t);
  const { reply: held } = await server.holdWorker();
  const greedy = await server.crowd('greedy', 60);
  const one = Array.from({ length: 20 }, (_, i) => server.request(`one${i}`));
  const others = [server.send('one', one)];
  for (let i = 0; i < 20; i++) {
    const { queued } = server;
    others.push(server.call('two', `two${i}`));
    await until(() => server.queued > queued);
  }
  server.release();
  const [batch] = (await Promise.all([...others, ...greedy, held])) as Answer[][];
  const texts = one.map(({ id }) => id);
  assert.deepEqual(resultsOf(batch ?? []), texts);
  const { ran } = server;
  assert.equal(ran.length, 100);
  const ofCaller = (name: string) => ran.filter((text) => text.startsWith(name));
  assert.deepEqual(ofCaller('one'), texts);
  assert.deepEqual(
    ofCaller('two'),
    Array.from({ length: 20 }, (_, i) => `two${i}`),
  );
  // While all three wait each gets a third: when the last of `two` runs, no more than that of the greedy ones has run.
  const ended = greedyBefore(ran, 'two19');
  assert.ok(ended <= 30, `${ended} before: ${ran.join(' ')}`);
});

test('a caller of twice the weight gets twice the share', async (t) => {
  const weightOf = ({ auth }: { auth: unknown }) =>
    (auth as { sub: string }).sub === 'heavy' ? 2 : 1;
  const server = await Server.start(t, { weightOf });
  const { reply: held } = await server.holdWorker();
  const greedy = await server.crowd('greedy', 60);
  const heavy = await server.crowd('heavy', 40);
  server.release();
  await Promise.all([...greedy, ...heavy, held]);
  const ended = greedyBefore(
    server.ran,
    server.ran.findLast((text) => text.startsWith('heavy')) ?? '',
  );
  // Equal shares would let some forty go before. The shares are of expected cost, which is not quite the same for all.
  assert.ok(ended >= 12 && ended <= 33, `${ended} before: ${server.ran.join(' ')}`);
});

test('where the queue is full the newest call of who has most of it is refused, and says when to come back', async (t) => {
  const server = await Server.start(t, { maxQueue: 50 });
  const { reply: held } = await server.holdWorker();
  // One after another, so that the oldest are known.
  const greedy: Promise<Answer>[] = [];
  while (server.queued < 50) {
    const { inFlight } = server;
    greedy.push(server.call('greedy', `greedy${greedy.length}`));
    await until(() => server.inFlight > inFlight);
  }
  const polite = Array.from({ length: 10 }, (_, i) => server.call('polite', `polite${i}`));
  const refused = await Promise.all(greedy.slice(-10));
  for (const { error } of refused) {
    assert.equal(error?.code, -32000);
    assert.ok((error?.data?.retryAfterMs ?? 0) > 0);
  }
  server.release();
  assert.deepEqual(
    resultsOf(await Promise.all(polite)),
    Array.from({ length: 10 }, (_, i) => `polite${i}`),
  );
  const others = greedy.slice(0, -10);
  assert.deepEqual(
    resultsOf(await Promise.all(others)),
    others.map((_, i) => `greedy${i}`),
  );
  await held;
});

test('when to come back is told by what the refused caller itself has waiting, and by its share', async (t) => {
  const weightOf = ({ auth }: { auth: unknown }) =>
    (auth as { sub: string }).sub === 'gold' ? 4 : 1;
  const server = await Server.start(t, { maxQueue: 50, weightOf });
  const { reply: held } = await server.holdWorker();
  const plain = await server.crowd('plain', 24);
  const gold = await server.crowd('gold', 26);
  const retryMsOf = ({ error }: Answer): number => {
    assert.equal(error?.code, -32000);
    return error.data?.retryAfterMs ?? 0;
  };
  // Who has most of what waits has its own 27 calls before it, and a quarter of them by others'; not all 51.
  const goldMs = retryMsOf(await server.call('gold', 'gold too many'));
  plain.push(server.call('plain', 'plain24'));
  retryMsOf(await Promise.race(gold));
  const plainMs = retryMsOf(await server.call('plain', 'plain too many'));
  assert.ok(goldMs > 0.5 * plainMs && goldMs < 0.8 * plainMs, `${goldMs} and ${plainMs}`);
  server.release();
  await Promise.all([...plain, ...gold, held]);
});
