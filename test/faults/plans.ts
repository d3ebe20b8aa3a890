import assert from 'node:assert/strict';
import type { DispatcherOptions, DispatchOptions } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { Board } from '../fixtures/faults/board.ts';
import { TestService } from '../harness.ts';
import { until } from '../turns.ts';
import { randomFrom, seed } from './random.ts';

export const board = Board.get();

export function fixture(name: string): string {
  return moduleUrl(`test/fixtures/faults/${name}`);
}

/** One call, named for good: its number counts its executions, its nonce must come back in its reply. */
export interface Plan {
  readonly method: string;
  readonly params: {
    readonly n: number;
    readonly nonce: string;
    readonly kind: string;
    readonly gate: number;
  };
  /** undefined: a notification. */
  readonly id: string | number | undefined;
}

/** How a call ended: 'ok', or its error code; see {@link outcomeOf}. */
export interface Ended {
  readonly plan: Plan;
  readonly outcome: string;
  readonly data: unknown;
  /** The thread that answered, where it went well. */
  readonly thread: number | undefined;
  readonly result: unknown;
}

let calls = 0;
let gates = 0;
const random = randomFrom(seed);

export interface PlanOptions {
  readonly method?: string;
  readonly gate?: number;
  readonly notify?: boolean;
  /** Ends the nonce. */
  readonly tail?: string;
}

/** Kinds that only a deadline ends; all others keep away from the short one, which a busy machine may meet. */
const endless = new Set(['loop', 'regex', 'spinLater', 'spinWhenAborted', 'never']);

function methodOf(kind: string): string {
  // It is to be in native code by its deadline.
  if (kind === 'native') return 'soon';
  return endless.has(kind) ? 'act' : 'long';
}

export function plan(
  kind = 'echo',
  { method = methodOf(kind), gate = 0, notify = false, tail = '' }: PlanOptions = {},
): Plan {
  const n = ++calls;
  const nonce = `${n}-${random().toString(36).slice(2)}${tail}`;
  const id = notify ? undefined : n % 2 === 0 ? n : `id ${n}`;
  return { method, params: { n, nonce, kind, gate }, id };
}

export function plans(count: number, kind?: string, options?: PlanOptions): Plan[] {
  return Array.from({ length: count }, () => plan(kind, options));
}

/** A new gate; 0 is never opened. */
export function gate(): number {
  return ++gates;
}

export function toRequest({ method, params, id }: Plan): object {
  return { jsonrpc: '2.0', method, params, ...(id !== undefined && { id }) };
}

interface Reply {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: { readonly nonce: string; readonly thread: number };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Reads one reply as that of a call: everything about it must be that call's own. */
function read(plan: Plan, reply: Reply): Ended {
  assert.equal(reply.id, plan.id, 'the reply has the id of another call');
  assert.equal('result' in reply, !('error' in reply), 'a result or an error');
  const { result, error } = reply;
  if (error === undefined) {
    assert.equal(result?.nonce, plan.params.nonce, 'the result is that of another call');
    return { plan, outcome: 'ok', data: undefined, thread: result?.thread, result };
  }
  const { reason, nonce } = (error.data ?? {}) as { reason?: string; nonce?: string };
  if (nonce !== undefined)
    assert.equal(nonce, plan.params.nonce, 'the error is that of another call');
  return {
    plan,
    outcome: outcomeOf(error.code, reason),
    data: error.data,
    thread: undefined,
    result: undefined,
  };
}

/** An error code, with the reason that it has. A refusal's reason says which limit was met, and nothing of the call. */
export function outcomeOf(code: number, reason: string | undefined): string {
  return reason === undefined || code === -32_000 ? `${code}` : `${code} ${reason}`;
}

/** Reads the whole answer to a call or a batch: one reply for each id, in the order of the calls. */
export function readAnswer(request: Plan | readonly Plan[], text: string | undefined): Ended[] {
  const sent = Array.isArray(request) ? (request as readonly Plan[]) : [request as Plan];
  const answered = sent.filter(({ id }) => id !== undefined);
  if (answered.length === 0) {
    assert.equal(text, undefined, 'a notification is not answered');
    return [];
  }
  assert.ok(text !== undefined, 'not answered');
  const parsed = JSON.parse(text) as Reply | Reply[];
  assert.equal(Array.isArray(parsed), Array.isArray(request));
  const replies = Array.isArray(parsed) ? parsed : [parsed];
  assert.deepEqual(
    replies.map(({ id }) => id),
    answered.map(({ id }) => id),
    'exactly one reply for each id, in order',
  );
  return answered.map((one, i) => read(one, replies[i] as Reply));
}

/** A dispatcher of test/fixtures/faults/procedures.ts, spoken to in plans. */
export class Service extends TestService {
  readonly workers: number;

  constructor(options: DispatcherOptions) {
    super({ modules: [fixture('procedures.ts')], ...options });
    this.workers = options.workers ?? 1;
  }

  get pool() {
    const { pool } = this.dispatcher.stats();
    assert.ok(pool !== undefined);
    return pool;
  }

  async send(one: Plan, options: DispatchOptions = {}): Promise<Ended> {
    const ended = readAnswer(one, await this.ask(toRequest(one), options))[0];
    // What a notification came to, nobody is told.
    return (
      ended ?? { plan: one, outcome: 'none', data: undefined, thread: undefined, result: undefined }
    );
  }

  async batch(some: readonly Plan[], options: DispatchOptions = {}): Promise<Ended[]> {
    return readAnswer(some, await this.ask(some.map(toRequest), options));
  }

  sendAll(some: readonly Plan[], options: DispatchOptions = {}): Promise<Ended[]> {
    return Promise.all(some.map((one) => this.send(one, options)));
  }

  /** Makes a procedure known as cheap, so that its calls share frames whatever they do. */
  async learn(...methods: string[]): Promise<void> {
    for (const method of methods) {
      for (let round = 0; round < 5; round++) {
        await this.sendAll(plans(20, 'echo', { method }));
      }
    }
  }

  /** All replicas serve again: as many as there were, none of them lost in thought. */
  async whole(): Promise<void> {
    await until(() => this.pool.workers.length === this.workers);
  }

  /** Nothing is left of what was sent: what waited is gone, nothing is counted that does not exist. */
  async assertIdle(): Promise<void> {
    await until(() => this.pool.workers.every(({ inFlight }) => inFlight === 0));
    assert.equal(this.pool.queued, 0, 'calls still count as waiting');
    await until(() => this.dispatcher.stats().inFlight === 0);
  }
}

/** The thread a call runs on, as soon as it does. */
export async function begun({ params }: Plan): Promise<number> {
  await until(() => board.runs(params.n) > 0);
  return board.thread(params.n);
}

export function runsOf(some: readonly Plan[]): number[] {
  return some.map(({ params }) => board.runs(params.n));
}

export function outcomes(some: readonly Ended[]): string[] {
  return some.map(({ outcome }) => outcome);
}

/** Each of them has run, and none twice. */
export function assertRanOnce(some: readonly Plan[]): void {
  for (const { params } of some) {
    assert.equal(board.runs(params.n), 1, `executions of call ${params.n} (${params.kind})`);
  }
}

export function assertOk(ended: readonly Ended[]): void {
  for (const { outcome, plan } of ended) {
    assert.equal(outcome, 'ok', `call ${plan.params.n} (${plan.params.kind})`);
  }
}
