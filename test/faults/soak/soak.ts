import { mallocSettings } from '../../../src/server/process/fork-server.ts';
import { Compiled, compiledTree } from '../../compiled.ts';
import type { Recovery, Usage } from '../../fixtures/faults/soak-server.ts';
import { MemoryTrend } from '../memory-trend.ts';
import { type Plan, plan, plans } from '../plans.ts';
import { pick, randomFrom } from '../random.ts';
import { Bodies } from './bodies.ts';
import { Caller } from './caller.ts';
import { Bag, faultPlan, faults, goodPlan, isAllowed, isAmongMany, isHostile } from './faults.ts';
import { Reloader } from './reloader.ts';
import type { SoakReport } from './report.ts';
import { type PoolFacts, pause, Server } from './server.ts';
import { Streams } from './streams.ts';
import { type SoakRow, Tally } from './tally.ts';

export interface SoakOptions {
  /** Every choice comes from it. */
  readonly seed: number;
  readonly calls: number;
  /** Per cent of the calls. */
  readonly hostile: number;
  /** Each behind a bad edit that must be refused. */
  readonly reloads: number;
  /** How long the server lets modules load. */
  readonly startTimeoutMs: number;
  /** Bursts of large bodies: whole, held, given up. */
  readonly bursts: number;
  /** How often the recovery from each fault is measured. */
  readonly recoveryRounds: number;
  /** The calls are spread over so many minutes at least. */
  readonly minutes?: number;
  /** Aborted: no further call is sent, and what was is counted. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number) => void;
}

const connections = 64;

/** A batch with one of each fault for so many calls. */
const framesEvery = 2000;

/** One burst of so many holds back more bodies than the server may keep. */
const floodEvery = 5;

/** A held body stays so for as many calls of the others. */
const heldCalls = 300;

/**
 * Resident memory may grow, over what the server holds at rest, by the budget for bodies (`maxBodyMemory`), and by what
 * the heaps of two generations of three threads (64 MB each at most), the replies and the garbage of them all come to.
 */
const bodyMemoryMb = 256;
const marginMb = 384;

/** The run ends early beyond so many. */
const mostViolations = 100;

/** Some are opened once, by what is first used under load. */
const moreDescriptors = 8;

/** Runs the soak: counts every answer, one by one, and every execution. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const compiled = new Compiled(await compiledTree());
  // As the supervisor starts a server.
  const server = new Server(compiled, options.startTimeoutMs, mallocSettings);
  try {
    return await new Soak(options, server, await server.url()).run();
  } finally {
    server.kill();
    compiled.remove();
  }
}

class Soak {
  readonly #options: SoakOptions;
  readonly #server: Server;
  readonly #tally = new Tally();
  readonly #caller: Caller;
  readonly #reloader: Reloader;
  readonly #bodies: Bodies;
  readonly #streams: Streams;
  readonly #random: () => number;
  readonly #bag: Bag;
  #sent = 0;
  #frames = 0;
  #began = performance.now();
  /** The row of good calls now. */
  #phase = '(good calls)';

  constructor(options: SoakOptions, server: Server, url: string) {
    this.#options = options;
    this.#server = server;
    this.#random = randomFrom(options.seed);
    this.#bag = new Bag(this.#random);
    this.#caller = new Caller(url, this.#tally, connections);
    this.#reloader = new Reloader(url, server, this.#tally.violations);
    this.#bodies = new Bodies(url, this.#tally, randomFrom(options.seed + 1));
    this.#streams = new Streams(url, this.#tally, randomFrom(options.seed + 2));
    this.#nameRows();
  }

  async run(): Promise<SoakReport> {
    const server = this.#server;
    const tally = this.#tally;
    await server.whole();
    const before = await server.usage();
    this.#began = performance.now();
    const trend = new MemoryTrend(() => server.usage());
    await this.#load();
    const memory = await trend.end();
    const seconds = (performance.now() - this.#began) / 1000;
    const stormRecoveries = (await server.tell('recoveries')) as Recovery[];
    await this.#measureRecoveries();
    this.#caller.end();
    await server.whole();
    const after = await settled(server, before);
    const rssBoundMb = before.rssMb + bodyMemoryMb + marginMb;
    if (isMore(after, before))
      tally.violations.push(`left behind: ${JSON.stringify({ before, after })}`);
    if (after.peakRssMb > rssBoundMb)
      tally.violations.push(`RSS ${after.peakRssMb} MB, above ${rssBoundMb} MB`);
    const losses = Number(await server.tell('losses'));
    const otherLosses = (await server.tell('otherLosses')) as string[];
    const logged = (await server.tell('logged')) as Readonly<Record<string, number>>;
    tally.violations.push(...((await server.tell('surprises')) as string[]));
    await this.#close();
    return {
      rows: tally.rows,
      seconds,
      stormRecoveries,
      logged,
      losses,
      otherLosses,
      reloads: this.#reloader.done,
      badEdits: this.#reloader.refused,
      memory,
      held: { before, after },
      rssBoundMb,
      violations: tally.violations,
    };
  }

  get #isOver(): boolean {
    const isAborted = this.#options.signal?.aborted === true;
    return this.#server.hasEnded || isAborted || this.#isHopeless;
  }

  /** So much is wrong that more calls would show no more. */
  get #isHopeless(): boolean {
    return this.#tally.violations.length > mostViolations;
  }

  /** In the order of the table. */
  #nameRows(): void {
    const kinds = faults.map(({ kind }) => kind);
    const bodies = ['upload given up', 'large', 'large inline', 'held'];
    const names = ['(good calls)', 'among many', ...kinds, 'one of each', 'reload', 'edit'];
    const streams = ['events', 'socket', 'stream left', 'over socket'];
    for (const name of [...names, 'caller gone', ...bodies, ...streams]) this.#tally.row(name);
  }

  readonly #rowOf = (one: Plan): SoakRow =>
    this.#tally.row(
      isHostile(one) ? one.params.kind : isAmongMany(one) ? 'among many' : this.#phase,
    );

  /** All that disturbs, at once. */
  async #load(): Promise<void> {
    const clients = Array.from({ length: connections }, (_, i) => this.#client(`client ${i}`));
    let isOver = false;
    const streams = this.#streams.run(() => isOver || this.#isOver);
    try {
      await Promise.all([...clients, this.#disturb(), this.#burst()]);
    } finally {
      isOver = true;
    }
    await streams;
  }

  async #client(name: string): Promise<void> {
    const { calls, hostile, onProgress } = this.#options;
    const random = this.#random;
    const share = hostile / 100;
    while (this.#sent < calls && !this.#isOver) {
      const isBatch = random() < 0.3;
      const some = Array.from({ length: isBatch ? 2 + Math.floor(random() * 7) : 1 }, () =>
        random() >= share ? goodPlan(random) : this.#bag.next(),
      );
      this.#sent += some.length;
      if (this.#sent >= (this.#frames + 1) * framesEvery) await this.#sendOneOfEach();
      if (random() < share / 3) {
        this.#sent++;
        const left = plan(pick(random, ['wait', 'echo']), { method: 'long' });
        await this.#caller.sendAndGo(left, this.#tally.row('caller gone'));
      }
      await this.#caller.send(some, this.#rowOf, isAllowed, name);
      onProgress?.(this.#sent);
      await this.#pace();
    }
  }

  /** Waits while more was sent than is due by now. */
  async #pace(): Promise<void> {
    const { calls, minutes = 0 } = this.#options;
    if (minutes === 0) return;
    const dueMs = (this.#sent / calls) * minutes * 60_000;
    while (performance.now() - this.#began < dueMs && !this.#isOver) await pause(20);
  }

  async #sendOneOfEach(): Promise<void> {
    this.#frames++;
    const each = faults.flatMap(({ kind }) => [faultPlan(kind), plan('echo', { method: 'long' })]);
    this.#sent += each.length;
    const row = this.#tally.row('one of each');
    await this.#caller.send(each, () => row, isAllowed, `frame ${this.#frames}`);
  }

  /** Reloads, spread over the calls. */
  async #disturb(): Promise<void> {
    const { reloads, calls } = this.#options;
    for (let i = 1; i <= reloads; i++) {
      await this.#untilSent((i / (reloads + 1)) * calls);
      if (this.#isOver) return;
      await this.#during('edit', () => this.#reloader.bad());
      await this.#during('reload', () => this.#reloader.good());
    }
  }

  async #burst(): Promise<void> {
    const { bursts, calls } = this.#options;
    for (let i = 0; i < bursts; i++) {
      await this.#untilSent((calls * (i + 0.5)) / bursts);
      if (this.#isOver) return;
      const until = Math.min(this.#sent + heldCalls, calls);
      await this.#bodies.burst(() => this.#untilSent(until), i % floodEvery === floodEvery - 1);
    }
  }

  async #untilSent(count: number): Promise<void> {
    while (this.#sent < count && !this.#isOver) await pause(5);
  }

  /** Counts the good calls that are sent meanwhile in a row of their own. */
  async #during(row: string, act: () => Promise<void>): Promise<void> {
    const before = this.#phase;
    this.#phase = row;
    await act();
    this.#phase = before;
  }

  /** Under light traffic, one loss at a time and with its spare in place: how long a slot is gone. */
  async #measureRecoveries(): Promise<void> {
    const server = this.#server;
    const beside = this.#tally.row('beside');
    let light = true;
    let sent = 0;
    const lightClients = Array.from({ length: 4 }, async () => {
      while (light && !server.hasEnded) {
        const one = plan('echo', { method: 'long' });
        // More of them than one caller may send.
        const name = `light ${sent++ % connections}`;
        await this.#caller.send([one], () => beside, isAllowed, name);
        await pause(1);
      }
    });
    for (let round = 0; round < this.#options.recoveryRounds; round++) {
      for (const { kind, cause } of faults) {
        if (cause === undefined) continue;
        await server.whole();
        await server.tell('forget');
        const name = `${kind} ${round}`;
        await this.#caller.send([faultPlan(kind)], this.#rowOf, isAllowed, name);
        // Where the express worker ran the call, nobody takes the lost thread's place among the workers: there is no figure then.
        for (let tries = 0, found: Recovery[] = []; found.length === 0 && tries < 2000; tries++) {
          await pause(5);
          found = (await server.tell('recoveries')) as Recovery[];
          for (const { ms } of found) this.#tally.row(kind).recovery.push(ms);
        }
      }
    }
    light = false;
    await Promise.all(lightClients);
  }

  /** Both workers and the express worker are held, and calls wait behind: then the server is told to close. */
  async #close(): Promise<void> {
    const server = this.#server;
    const closing = this.#tally.row('close');
    const isOk = (_plan: Plan, outcome: string): boolean => outcome === 'ok';
    const answers: Promise<unknown>[] = [];
    const send = (some: readonly Plan[]): void => {
      for (const one of some) answers.push(this.#caller.send([one], () => closing, isOk));
    };
    // One after the other: a worker that is free would take the call that is meant for the express worker.
    for (let holding = 1; holding <= 2; holding++) {
      send(plans(1, 'hold', { method: 'heavy', gate: 1 }));
      await this.#untilHeld(({ workers }) => inFlight(workers) === holding);
    }
    // Known to be short.
    send(plans(1, 'hold', { method: 'long', gate: 1 }));
    await this.#untilHeld(({ express }) => express?.inFlight === 1);
    send(plans(connections - answers.length, 'echo', { method: 'long' }));
    await this.#untilHeld(
      ({ workers, express, queued }) =>
        inFlight(workers) + (express?.inFlight ?? 0) + queued === connections,
    );
    const closed = server.tell('close');
    await server.tell('open');
    await Promise.all(answers);
    this.#caller.end();
    this.#tally.checkRuns((await closed) as number[]);
    await server.ended();
  }

  /** Waits for what the pool tells of itself; some 10 s at most, since held calls have a deadline. */
  async #untilHeld(isSo: (facts: PoolFacts) => boolean): Promise<void> {
    let facts = await this.#server.pool();
    for (let tries = 0; !isSo(facts) && tries < 2000; tries++) {
      await pause(5);
      facts = await this.#server.pool();
    }
    if (isSo(facts)) return;
    this.#tally.violations.push(`close: the workers are not held: ${JSON.stringify(facts)}`);
  }
}

function inFlight(workers: PoolFacts['workers']): number {
  return workers.reduce((sum, worker) => sum + worker.inFlight, 0);
}

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
    const usage = await server.usage();
    if (!isMore(usage, before) || tries === 600) return usage;
    await pause(100);
  }
}
