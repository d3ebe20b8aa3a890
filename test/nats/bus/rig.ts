import type { TestContext } from 'node:test';
import type { Call } from '../../../src/dispatch/call.ts';
import { DeadlineSweep } from '../../../src/dispatch/deadline.ts';
import { RequestScope } from '../../../src/dispatch/scope.ts';
import { OpenStreams } from '../../../src/dispatch/streams/open-streams.ts';
import type { Reply } from '../../../src/jsonrpc/reply.ts';
import { RemoteMember } from '../../../src/nats/gateway/remote-member.ts';
import { RemotePool, type RemotePoolOptions } from '../../../src/nats/gateway/remote-pool.ts';
import type { Heartbeat } from '../../../src/nats/heartbeat.ts';
import { Member } from '../../../src/nats/member/member.ts';
import { defaultRetention } from '../../../src/nats/member/member-options.ts';
import { Subjects } from '../../../src/nats/subjects.ts';
import { describedProcedure, describeProcedure } from '../../../src/router/document/description.ts';
import { Router, tableOf } from '../../../src/router/router.ts';
import { Type } from '../../../src/router/schema/type.ts';
import type { Procedure } from '../../../src/router/types.ts';
import { Dispatcher } from '../../../src/service/dispatcher.ts';
import { patience } from '../../patience.ts';
import { Bus, type BusConnection } from './bus.ts';

const timeoutMs = 600_000;

export interface RigOptions {
  /** The procedures of each member. */
  readonly members?: readonly (readonly string[])[];
  readonly maxPayload?: number;
  readonly pool?: Partial<RemotePoolOptions>;
}

/** What a member does with a call. */
export type Handle = (key: string, member: number, signal: AbortSignal) => Promise<unknown>;

/** A gateway's executor and the members behind it, over a bus: no clock is asked, and syncs are sent when the test says so. */
export class Rig {
  readonly bus: Bus;
  readonly members: Member[] = [];
  readonly pool: RemotePool;
  readonly toMembers: BusConnection;
  readonly toGateway: BusConnection;
  readonly remotes: RemoteMember[] = [];
  /** The keys of the calls that have run, in that order. */
  readonly runs: string[] = [];
  handle: Handle = async (key) => key;
  readonly #procedures = new Map<string, Procedure>();
  readonly #closers: (() => Promise<unknown>)[] = [];

  /** It ends with the test. */
  static async open(t: TestContext, options: RigOptions = {}): Promise<Rig> {
    const rig = new Rig(options);
    t.after(() => rig.close());
    for (const names of options.members ?? [['run']]) await rig.#addMember(names);
    await rig.untilOpen();
    return rig;
  }

  private constructor({ maxPayload, pool }: RigOptions) {
    this.bus = new Bus(maxPayload);
    this.toMembers = this.bus.connect();
    this.toGateway = this.bus.connect();
    const deadlines = new DeadlineSweep();
    this.#closers.push(async () => deadlines.close());
    const limits = { timeoutMs, maxStreamMs: 0, maxStreams: 10_000 };
    this.pool = new RemotePool(
      {
        memberInFlight: 1024,
        memberBytes: 2 ** 23,
        maxReplyBytes: 2 ** 24,
        maxQueue: 100_000,
        maxQueueMs: timeoutMs,
        shares: { keyOf: () => '', weightOf: () => 1 },
        // The first that may take it: the same in every run.
        choose: ([first]) => first as never,
        streams: new OpenStreams(limits, deadlines, { open: 0 }, undefined),
        ...pool,
      },
      () => this.remotes,
      undefined,
    );
    this.toMembers.onState(() => {
      for (const { channel } of this.remotes) channel.interrupt();
    });
    this.toMembers.subscribe('s.g.gw.>', (message) => {
      const id = message.subject.split('.')[3];
      this.remotes.find((remote) => remote.id === id)?.channel.onMessage(message);
    });
  }

  /** A call of `run`, or of another procedure. */
  call(key: string, { name = 'run', scope = new RequestScope({}), text = '' } = {}): Call {
    const procedure = this.#procedures.get(name);
    if (procedure === undefined) throw new Error(`no member serves ${name}`);
    const params = { key, text };
    return { procedure, id: '1', params, source: undefined, start: -1, end: -1, scope };
  }

  /** Begins a call at once. */
  async execute(call: Call): Promise<Reply> {
    return this.pool.execute(call);
  }

  /** Lets messages come and go, and syncs, until `ended` has ended. */
  async until<T>(ended: Promise<T> | T): Promise<T> {
    let isOver = false;
    const value = Promise.resolve(ended).finally(() => {
      isOver = true;
    });
    while (!isOver) await this.turn();
    return value;
  }

  /** A turn of the event loop, and a sync of what is closed. */
  async turn(): Promise<void> {
    for (const { channel } of this.remotes) channel.sync(0);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async untilOpen(): Promise<void> {
    while (!this.remotes.every(({ channel }) => channel.isOpen)) await this.turn();
  }

  async close(): Promise<void> {
    this.toMembers.mayPublish = () => true;
    this.toGateway.mayPublish = () => true;
    await this.until(this.pool.close(0));
    for (const close of this.#closers) await close();
  }

  async #addMember(names: readonly string[]): Promise<void> {
    const place = this.remotes.length;
    const router = new Router();
    const params = Type.Object({ key: Type.String(), text: Type.String() });
    for (const name of names) {
      router.rpc({ name, params }, async ({ key }, { signal }) => {
        this.runs.push(key);
        return this.handle(key, place, signal);
      });
    }
    const service = new Dispatcher({
      ...patience,
      router,
      timeoutMs,
      maxRequestMs: timeoutMs,
      maxReplyBytes: 2 ** 24,
      maxBodyBytes: 2 ** 24,
      maxInlineParamsBytes: 2 ** 24,
      logLevel: 'silent',
      metrics: false,
    });
    await service.ready();
    const heartbeat: Heartbeat = {
      id: `m${place}`,
      state: 'ready',
      contract: `c${place}`,
      version: '1.0.0',
      started: 0,
      load: 0,
      gateways: 0,
      calls: 0,
      returns: 0,
    };
    const member = new Member({
      ...heartbeat,
      connection: this.toGateway,
      service,
      name: 's',
      heartbeatMs: timeoutMs,
      silentMs: timeoutMs,
      maxBodyBytes: 2 ** 24,
      trustsAuth: true,
      retention: defaultRetention,
      authenticate: undefined,
      contract: () => ({ id: heartbeat.contract, document: () => Buffer.from('[]') }),
    });
    this.members.push(member);
    this.#closers.push(async () => {
      member.close();
      await service.close(0);
    });
    const subjects = new Subjects('s');
    const remote = new RemoteMember(
      this.toMembers,
      subjects,
      'gw',
      heartbeat,
      undefined,
      this.pool,
    );
    const served = [...tableOf(router).values()].map((each) =>
      describedProcedure(describeProcedure(each)),
    );
    remote.procedures = new Map(served.map((procedure) => [procedure.name, procedure]));
    for (const procedure of served) this.#procedures.set(procedure.name, procedure);
    this.remotes.push(remote);
  }
}

/** What a reply says: its result, or the code of its error. */
export function saidBy(reply: Reply): unknown {
  const text = typeof reply === 'string' ? reply : Buffer.from(reply ?? '').toString();
  const { result, error } = JSON.parse(text) as { result?: unknown; error?: { code: number } };
  return error?.code ?? result;
}
