import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createInterface, type Interface } from 'node:readline';
import { Compiled } from '../compiled.ts';
import type { Recovery, Usage } from '../fixtures/faults/soak-server.ts';
import { type Ended, type Plan, plan, plans, readAnswer, toRequest } from './harness.ts';
import { MemoryTrend, type Trend } from './memory-trend.ts';
import { pick, randomFrom, shuffle } from './random.ts';

export interface SoakRow {
  readonly fault: string;
  calls: number;
  answered: number;
  /** Calls with an id that got no answer, more than one, or one that may not be. */
  lost: number;
  /** Answers with the id or the nonce of another call. */
  crossed: number;
  /** Milliseconds from the loss of a thread to the next call that its successor answered. */
  readonly recovery: number[];
}

export interface SoakReport {
  readonly rows: readonly SoakRow[];
  readonly seconds: number;
  readonly refused: number;
  /** The same of the threads that were lost in the storm, several at a time. */
  readonly stormRecoveries: readonly number[];
  /** Threads that were ended at a deadline or died. */
  readonly losses: number;
  readonly reloads: number;
  /** Of the server while it was under load; undefined: too short a run to tell. */
  readonly memory: { readonly rss: Trend; readonly heap: Trend } | undefined;
  /** What it held at rest, before the load and after it. */
  readonly held: { readonly before: Usage; readonly after: Usage };
  /** What may not be, each in a line. */
  readonly violations: readonly string[];
}

export interface SoakOptions {
  /** Every choice comes from it. */
  readonly seed: number;
  readonly calls: number;
  /** Per cent of the calls. */
  readonly hostile: number;
  readonly reloads: number;
  /** How often the recovery from each fault is measured. */
  readonly recoveryRounds: number;
  readonly onProgress?: (done: number) => void;
}

/** Each fault, what its own call comes to, and the cause by which the server's log names a lost thread. */
const faults: readonly { kind: string; outcome: string; cause?: string }[] = [
  { kind: 'loop', outcome: '-32001', cause: 'fault.loop' },
  { kind: 'regex', outcome: '-32001', cause: 'fault.regex' },
  { kind: 'spinLater', outcome: '-32001', cause: 'fault.spinLater' },
  { kind: 'never', outcome: '-32001' },
  { kind: 'exit', outcome: '-32002 exit' },
  { kind: 'reallyExit', outcome: '-32002 exit', cause: 'exit' },
  { kind: 'exhaust', outcome: '-32002 memory', cause: 'memory' },
  { kind: 'throwLate', outcome: 'ok' },
  { kind: 'rejectLate', outcome: 'ok' },
  { kind: 'crash', outcome: '-32603' },
  { kind: 'bigint', outcome: '-32603' },
  { kind: 'cycle', outcome: '-32603' },
  { kind: 'recursion', outcome: '-32603' },
];

const connections = 64;

/** A batch with one of each fault for so many calls. */
const framesEvery = 2000;

/** The server as a process, and its control line. */
class Server {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #next: AsyncIterator<string>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(compiled: Compiled) {
    const child = compiled.start('test/fixtures/faults/soak-server.ts', [compiled.folder]);
    this.#child = child;
    this.#lines = createInterface(child.stdout);
    this.#next = this.#lines[Symbol.asyncIterator]();
  }

  async line(): Promise<unknown> {
    const { value, done } = await this.#next.next();
    if (done === true) throw new Error('the server has ended');
    return JSON.parse(value as string) as unknown;
  }

  /** One command at a time: the next waits. */
  tell(command: string): Promise<unknown> {
    const answer = this.#last.then(() => {
      this.#child.stdin?.write(`${command}\n`);
      return this.line();
    });
    this.#last = answer.catch(() => {});
    return answer;
  }

  async ended(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      await once(this.#child, 'exit');
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

class Soak {
  readonly violations: string[] = [];
  readonly rows = new Map<string, SoakRow>();
  refused = 0;
  /** What each call came to; absent: nothing is known. */
  readonly #outcomes = new Map<number, string>();
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections });

  constructor(url: string) {
    this.#url = url;
  }

  row(fault: string): SoakRow {
    let row = this.rows.get(fault);
    if (row === undefined) {
      row = { fault, calls: 0, answered: 0, lost: 0, crossed: 0, recovery: [] };
      this.rows.set(fault, row);
    }
    return row;
  }

  #post(body: string, signal?: AbortSignal): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      };
      const agent = signal === undefined ? this.#agent : false;
      const sent = request(
        this.#url,
        { method: 'POST', agent, headers, ...(signal && { signal }) },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('error', reject);
          response.on('end', () => {
            if (response.statusCode === 200) resolve(text);
            else if (response.statusCode === 204) resolve(undefined);
            else reject(new Error(`HTTP ${response.statusCode}`));
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /**
   * Sends a call or a batch, and counts each of its calls in its row.
   *
   * @param rowOf the row of each call
   * @param isAllowed whether a call may come to that
   */
  async send(
    some: readonly Plan[],
    rowOf: (plan: Plan) => SoakRow,
    isAllowed: (plan: Plan, outcome: string) => boolean,
  ): Promise<void> {
    const isBatch = some.length > 1;
    for (const one of some) rowOf(one).calls++;
    const body = JSON.stringify(isBatch ? some.map(toRequest) : toRequest(some[0] as Plan));
    let ended: Ended[];
    try {
      const text = await this.#post(body);
      try {
        ended = readAnswer(isBatch ? some : (some[0] as Plan), text);
      } catch (error) {
        for (const one of some) rowOf(one).crossed++;
        this.violations.push(`${String(error)}: ${text?.slice(0, 300)}`);
        return;
      }
    } catch (error) {
      for (const one of some) rowOf(one).lost++;
      this.violations.push(`not answered: ${String(error)}`);
      return;
    }
    for (const { plan, outcome } of ended) {
      const row = rowOf(plan);
      row.answered++;
      this.#outcomes.set(plan.params.n, outcome);
      if (outcome === '-32000') this.refused++;
      else if (!isAllowed(plan, outcome)) {
        row.lost++;
        this.violations.push(`${plan.method} ${plan.params.kind}: ${outcome}`);
      }
    }
  }

  /** Calls, and goes before the answer comes. */
  async sendAndGo(one: Plan): Promise<void> {
    const row = this.row('caller gone');
    row.calls++;
    const caller = new AbortController();
    const answer = this.#post(JSON.stringify(toRequest(one)), caller.signal);
    setTimeout(() => caller.abort(), 2);
    await answer.then(
      () => {
        row.answered++;
      },
      () => {},
    );
  }

  /** Each call ran as often as its answer says. */
  checkRuns(runs: readonly number[]): void {
    for (const [n, count] of runs.entries()) {
      const outcome = this.#outcomes.get(n);
      const isRight =
        outcome === undefined
          ? count <= 1
          : count === (outcome === '-32000' || outcome === '-32003' ? 0 : 1);
      if (!isRight) this.violations.push(`call ${n}: ${outcome}, executions: ${count}`);
    }
    for (const [n, outcome] of this.#outcomes) {
      if (n >= runs.length && outcome === 'ok') this.violations.push(`call ${n}: ok, never run`);
    }
  }

  /** Closes all connections; the next call opens another. */
  end(): void {
    this.#agent.destroy();
  }
}

function goodPlan(random: () => number): Plan {
  const roll = random();
  if (roll < 0.15) return plan('later', { method: 'long' });
  if (roll < 0.25) return plan('echo', { method: 'in.act' });
  if (roll < 0.3) return plan('fail', { method: 'long' });
  return plan('echo', { method: 'long' });
}

function isAllowedGood({ params: { kind } }: Plan, outcome: string): boolean {
  if (kind === 'fail') return outcome === '1001';
  // A call that waits is lost with its thread; any other is not.
  return outcome === 'ok' || (kind === 'later' && outcome === '-32002 neighbour');
}

const faultOf = new Map(faults.map((fault) => [`fault.${fault.kind}`, fault]));

function isAllowed(plan: Plan, outcome: string): boolean {
  const fault = faultOf.get(plan.method);
  if (fault === undefined) return isAllowedGood(plan, outcome);
  // It waits, and may be lost with its thread.
  return outcome === fault.outcome || (fault.kind === 'never' && outcome === '-32002 neighbour');
}

/** Runs the soak: counts every answer, one by one, and every execution. */
export async function soak({
  seed,
  calls,
  hostile,
  reloads,
  recoveryRounds,
  onProgress,
}: SoakOptions): Promise<SoakReport> {
  const random = randomFrom(seed);
  const compiled = new Compiled();
  const server = new Server(compiled);
  const began = performance.now();
  try {
    const run = new Soak((await server.line()) as string);
    const pool = async () => ((await server.tell('stats')) as { pool: PoolFacts }).pool;
    const whole = async (): Promise<void> => {
      for (let facts = await pool(); facts.workers.length < 2 || facts.spares < 1; ) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        facts = await pool();
      }
    };
    await whole();
    const before = (await server.tell('usage')) as Usage;
    const good = run.row('(good calls)');
    for (const { kind } of faults) run.row(kind);
    const rowOf = ({ method, params }: Plan): SoakRow =>
      faultOf.has(method) ? run.row(params.kind) : good;
    const frame = run.row('one of each');
    const during = run.row('reload');
    run.row('caller gone');
    let sent = 0;
    let frames = 0;
    let reloading = false;
    let bag: typeof faults = [];
    /** Every fault comes up as often as any other. */
    const nextFault = (): string => {
      if (bag.length === 0) bag = shuffle(random, faults);
      const [first, ...rest] = bag;
      bag = rest;
      return first?.kind ?? '';
    };
    const share = hostile / 100;
    const client = async (): Promise<void> => {
      while (sent < calls) {
        const isBatch = random() < 0.3;
        const some = Array.from({ length: isBatch ? 2 + Math.floor(random() * 7) : 1 }, () => {
          if (random() >= share) return goodPlan(random);
          const kind = nextFault();
          return plan(kind, { method: `fault.${kind}` });
        });
        sent += some.length;
        const isFrame = sent >= (frames + 1) * framesEvery;
        const isGone = random() < share / 3;
        if (isFrame) {
          frames++;
          const each = faults.flatMap(({ kind }) => [
            plan(kind, { method: `fault.${kind}` }),
            plan('echo', { method: 'long' }),
          ]);
          sent += each.length;
          await run.send(each, () => frame, isAllowed);
        }
        if (isGone) {
          sent++;
          await run.sendAndGo(plan(pick(random, ['wait', 'echo']), { method: 'long' }));
        }
        const atReload = reloading;
        await run.send(
          some,
          (one) => (atReload && !faultOf.has(one.method) ? during : rowOf(one)),
          isAllowed,
        );
        onProgress?.(sent);
      }
    };
    const clients = Promise.all(Array.from({ length: connections }, client));
    let reloaded = 0;
    const reloader = (async () => {
      for (let i = 1; i <= reloads; i++) {
        const due = (calls * i) / (reloads + 1);
        while (sent < due) await new Promise((resolve) => setTimeout(resolve, 5));
        reloading = true;
        if ((await server.tell('reload')) !== true) run.violations.push(`reload ${i} was none`);
        reloading = false;
        reloaded++;
      }
    })();
    const trend = new MemoryTrend(async () => (await server.tell('usage')) as Usage);
    await Promise.all([clients, reloader]);
    const memory = await trend.end();
    const seconds = (performance.now() - began) / 1000;
    const stormRecoveries = ((await server.tell('recoveries')) as Recovery[]).map(({ ms }) => ms);

    // Under light traffic, one loss at a time and with its spare in place: how long a slot is gone.
    const beside = run.row('beside');
    let light = true;
    const lightClients = Array.from({ length: 4 }, async () => {
      while (light) {
        await run.send([plan('echo', { method: 'long' })], () => beside, isAllowed);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    });
    for (let round = 0; round < recoveryRounds; round++) {
      for (const { kind, cause } of faults) {
        if (cause === undefined) continue;
        await whole();
        await server.tell('forget');
        await run.send([plan(kind, { method: `fault.${kind}` })], rowOf, isAllowed);
        for (let found: Recovery[] = []; found.length === 0; ) {
          await new Promise((resolve) => setTimeout(resolve, 5));
          found = (await server.tell('recoveries')) as Recovery[];
          for (const { ms } of found) run.row(kind).recovery.push(ms);
        }
      }
    }
    light = false;
    await Promise.all(lightClients);

    run.end();
    await whole();
    const after = await settled(server, before);
    if (isMore(after, before))
      run.violations.push(`left behind: ${JSON.stringify({ before, after })}`);

    // Both workers held, and the queue full of what came behind: then the server is told to close.
    const closing = run.row('close');
    const held = plans(2, 'hold', { method: 'heavy', gate: 1 });
    const behind = plans(connections - 2, 'echo', { method: 'long' });
    const answers = [...held, ...behind].map((one) =>
      run.send(
        [one],
        () => closing,
        (_plan, outcome) => outcome === 'ok',
      ),
    );
    while ((await pool()).queued < behind.length)
      await new Promise((resolve) => setTimeout(resolve, 5));
    await server.tell('open');
    const losses = Number(await server.tell('losses'));
    await Promise.all(answers);
    run.checkRuns((await server.tell('runs')) as number[]);
    await server.tell('close');
    run.end();
    await server.ended();
    return {
      rows: [...run.rows.values()],
      seconds,
      refused: run.refused,
      stormRecoveries,
      losses,
      reloads: reloaded,
      memory,
      held: { before, after },
      violations: run.violations,
    };
  } finally {
    server.kill();
    compiled.remove();
  }
}

/** Some are opened once, by what is first used under load. */
const moreDescriptors = 8;

function isMore(after: Usage, before: Usage): boolean {
  return (
    after.threads > before.threads ||
    after.descriptors > before.descriptors + moreDescriptors ||
    after.warnings.length > 0
  );
}

/** What the server holds when threads that were ended, and sockets, have gone; as it is after a minute at most. */
async function settled(server: Server, before: Usage): Promise<Usage> {
  for (let tries = 0; ; tries++) {
    const usage = (await server.tell('usage')) as Usage;
    if (!isMore(usage, before) || tries === 600) return usage;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const titles: Readonly<Record<string, string>> = {
  loop: 'infinite loop',
  regex: 'runaway regex',
  spinLater: 'loop behind an await',
  never: 'promise that never settles',
  exit: 'process.exit',
  reallyExit: 'thread ends under its calls',
  exhaust: 'heap exhaustion',
  throwLate: 'throw after return',
  rejectLate: 'unhandled rejection',
  crash: 'throw',
  bigint: 'result JSON cannot hold',
  cycle: 'cyclic result',
  recursion: 'stack overflow',
  'one of each': 'a frame with one of each',
  reload: 'good calls during a reload',
  'caller gone': 'caller gone (no answer due)',
  beside: 'good calls beside the measured recoveries',
  close: 'close with a full queue',
};

interface PoolFacts {
  readonly workers: readonly unknown[];
  readonly spares: number;
  readonly queued: number;
}

/** Median and longest, whole milliseconds; '' where there is nothing. */
export function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  if (median === undefined) return '';
  return `${Math.round(median)} / ${Math.round(sorted.at(-1) as number)}`;
}

/** The closing table, in Markdown. */
export function tableOf({ rows }: SoakReport): string {
  const lines = rows.map(({ fault, calls, answered, lost, crossed, recovery }) => {
    return `| ${titles[fault] ?? fault} | ${calls} | ${answered} | ${lost} | ${crossed} | ${spread(recovery)} |`;
  });
  return [
    '| fault | calls | answered | lost | crossed | recovery, ms (median / max) |',
    '|---|--:|--:|--:|--:|--:|',
    ...lines,
  ].join('\n');
}
