import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MemberLimits } from '../../src/extras/nats/liveness.ts';
import { fixture, type Running, startCli, urlOf } from '../cli/process.ts';
import { temporaryFolder } from '../files.ts';
import type { Lifetime, StartedApp } from '../harness.ts';
import { until } from '../turns.ts';
import { gateway, withLimits } from './apps.ts';
import { Callers, violationsOf } from './callers.ts';
import { NatsServer } from './nats-server.ts';

/** A member as a process of its own. */
export interface MemberProcess {
  readonly running: Running;
  readonly pid: number;
}

/** A NATS, members in processes of their own that write a journal of what they run, a gateway, and callers. */
export class FaultWorld {
  readonly server: NatsServer;
  readonly #journal: string;
  readonly #lifetime: Lifetime;
  front!: StartedApp;
  callers!: Callers;
  #members = 0;
  #keys = 0;

  private constructor(lifetime: Lifetime, server: NatsServer) {
    this.#lifetime = lifetime;
    this.server = server;
    this.#journal = join(temporaryFolder(lifetime), 'journal');
    writeFileSync(this.#journal, '');
  }

  /** @param limits and options of the gateway */
  static async open(
    lifetime: Lifetime,
    members: number,
    limits: Partial<MemberLimits> = {},
    options: Parameters<typeof gateway>[2] = {},
  ): Promise<{ readonly world: FaultWorld; readonly members: readonly MemberProcess[] }> {
    const server = await NatsServer.start();
    const world = new FaultWorld(lifetime, server);
    lifetime.after(() => server.close());
    world.front = await withLimits(limits, () => gateway(lifetime, server.url, options));
    world.callers = new Callers(world.front.url, () => `k${world.#keys++}`);
    const started = Array.from({ length: members }, () => world.startMember());
    return { world, members: await Promise.all(started) };
  }

  /** Resolves when the gateway knows it. */
  async startMember(env: NodeJS.ProcessEnv = {}): Promise<MemberProcess> {
    const wanted = ++this.#members;
    const args = ['serve', fixture('cluster/journal.ts'), '--nats', this.server.url, '--port', '0'];
    const running = startCli(
      [...args, '--no-supervisor', '--workers', '1', '--spare-workers', '0'],
      { JOURNAL: this.#journal, TANDEM_MAX_INLINE_PARAMS: '10mb', ...env },
    );
    this.#lifetime.after(async () => {
      running.child.kill('SIGKILL');
      await running.exit;
    });
    await running.seen('stderr', /"event":"serving"/);
    await until(() => this.members >= Math.min(wanted, this.#members));
    return { running, pid: running.child.pid ?? assert.fail('it does not run') };
  }

  /** A gateway as a process of its own. Resolves when it has found a member. */
  async startGateway(): Promise<{ readonly running: Running; readonly url: string }> {
    const args = ['gateway', '--nats', this.server.url, '--port', '0', '--no-supervisor'];
    const running = startCli(args);
    this.#lifetime.after(async () => {
      running.child.kill('SIGKILL');
      await running.exit;
    });
    return { running, url: await urlOf(running) };
  }

  /** Members that the gateway counts. */
  get members(): number {
    return this.front.app.dispatcher.stats().remote?.members ?? 0;
  }

  /** A member is about to go: the next one that is started is not beside it. */
  expectOneLess(): void {
    this.#members--;
  }

  journal(): readonly string[] {
    return readFileSync(this.#journal, 'utf8').split('\n').filter(Boolean);
  }

  /** Begins calls, until the end; resolves when some have ended. */
  async load(): Promise<void> {
    this.callers.start();
    await this.callers.more(50);
  }

  /** Every call has its answer; nothing ran more often than that says, what has a result ran, and only these errors came. */
  async end(...allowed: readonly string[]): Promise<void> {
    await this.callers.stop();
    assert.deepEqual(violationsOf(this.callers.ended, this.journal(), allowed), []);
  }
}
