import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fixture, type Running, startCli } from '../cli/process.ts';
import { call, gateway, type Served, until } from './apps.ts';
import { NatsServer } from './server.ts';

/** Milliseconds that a call of the load takes: so some are with members at any time. */
const callMs = 20;

const callers = 16;

interface Ended {
  readonly key: string;
  /** Of its error; 0: a result. */
  readonly code: number;
  readonly reason: string | undefined;
  /** The process that ran it. */
  readonly by: number | undefined;
}

/** A member as a process of its own. */
export interface MemberProcess {
  readonly running: Running;
  readonly pid: number;
}

/** A NATS, members in processes of their own that write a journal of what they run, a gateway, and callers. */
export class FaultWorld {
  readonly server: NatsServer;
  readonly #folder = mkdtempSync(join(tmpdir(), 'tandem-faults-'));
  readonly #journal = join(this.#folder, 'journal');
  readonly #t: TestContext;
  readonly ended: Ended[] = [];
  front!: Served;
  #members = 0;
  #keys = 0;
  #isOver = false;
  #load: Promise<unknown> = Promise.resolve();

  private constructor(t: TestContext, server: NatsServer) {
    this.#t = t;
    this.server = server;
    writeFileSync(this.#journal, '');
  }

  /** @param options of the gateway */
  static async open(
    t: TestContext,
    members: number,
    options: Parameters<typeof gateway>[2] = {},
  ): Promise<{ readonly world: FaultWorld; readonly members: readonly MemberProcess[] }> {
    const server = await NatsServer.start();
    const world = new FaultWorld(t, server);
    t.after(async () => {
      await server.close();
      rmSync(world.#folder, { recursive: true, force: true });
    });
    world.front = await gateway(t, server.url, options);
    const started = Array.from({ length: members }, () => world.startMember());
    return { world, members: await Promise.all(started) };
  }

  /** Resolves when the gateway knows it. */
  async startMember(): Promise<MemberProcess> {
    const wanted = ++this.#members;
    const args = ['serve', fixture('cluster/journal.ts'), '--nats', this.server.url, '--port', '0'];
    const running = startCli(
      [...args, '--no-supervisor', '--workers', '1', '--spare-workers', '0'],
      {
        JOURNAL: this.#journal,
      },
    );
    this.#t.after(async () => {
      running.child.kill('SIGKILL');
      await running.exit;
    });
    await running.seen('stdout', /Ready/);
    await until(() => this.members >= Math.min(wanted, this.#members));
    return { running, pid: running.child.pid ?? assert.fail('it does not run') };
  }

  /** Members that the gateway counts. */
  get members(): number {
    return this.front.app.dispatcher.stats().remote?.members ?? 0;
  }

  /** A member is about to go: the next one that is started is not beside it. */
  expectOneLess(): void {
    this.#members--;
  }

  /** Callers that call one after another, until `stop`. */
  start(): void {
    const one = async (): Promise<void> => {
      while (!this.#isOver) await this.#call();
    };
    this.#load = Promise.all(Array.from({ length: callers }, one));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#load;
  }

  /** Resolves when so many more calls have ended, of those that hold `like`. */
  async more(count: number, like: (ended: Ended) => boolean = () => true): Promise<void> {
    const from = this.ended.length;
    await until(() => this.ended.slice(from).filter(like).length >= count);
  }

  /** Calls that ended with a code. */
  with(code: number): readonly Ended[] {
    return this.ended.filter((one) => one.code === code);
  }

  journal(): readonly string[] {
    return readFileSync(this.#journal, 'utf8').split('\n').filter(Boolean);
  }

  /** Nothing ran twice, what has a result ran, and only these codes came. */
  check(...codes: readonly number[]): void {
    const runs = new Map<string, number>();
    for (const line of this.journal()) runs.set(line, (runs.get(line) ?? 0) + 1);
    for (const [line, count] of runs) assert.equal(count, 1, `${line}: ${count} times`);
    for (const { key, code } of this.ended) {
      assert.ok(code === 0 || codes.includes(code), `${key} ended with ${code}`);
      if (code === 0) assert.ok(runs.has(`ran ${key}`), `${key} has a result and never ran`);
      if (code === -32000) assert.ok(!runs.has(`ran ${key}`), `${key} was refused and ran`);
    }
  }

  async #call(): Promise<void> {
    const key = `k${this.#keys++}`;
    const { result, error } = await call(this.front.url, 'run', { key, ms: callMs });
    const reason = (error?.data as { reason?: string } | undefined)?.reason;
    this.ended.push({ key, code: error?.code ?? 0, reason, by: result as number | undefined });
    // A refusal comes at once: who asks again at once asks for nothing else.
    if (error !== undefined) await new Promise((resolve) => setTimeout(resolve, callMs));
  }
}
