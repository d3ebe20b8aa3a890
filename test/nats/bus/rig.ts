import type { TestContext } from 'node:test';
import type { Call } from '../../../src/core/dispatch/call.ts';
import { ReplyMemory } from '../../../src/core/dispatch/reply-memory.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { Router } from '../../../src/core/procedures/router.ts';
import type { Procedure } from '../../../src/core/procedures/types.ts';
import type { Reply } from '../../../src/core/protocol/reply.ts';
import { Type } from '../../../src/core/schema/type.ts';
import { Dispatcher } from '../../../src/core/service/dispatcher.ts';
import { RemoteMember } from '../../../src/extras/nats/gateway/remote-member.ts';
import {
  RemotePool,
  type RemotePoolOptions,
} from '../../../src/extras/nats/gateway/remote-pool.ts';
import type { Member } from '../../../src/extras/nats/member/member.ts';
import type { MemberOptions } from '../../../src/extras/nats/member/remote-gateway.ts';
import { firstStart } from '../../../src/extras/nats/session.ts';
import { Subjects } from '../../../src/extras/nats/subjects.ts';
import { patience } from '../../patience.ts';
import { repliesOf, replyOf } from '../../replies.ts';
import { describedBy, longMs, memberOf, poolOptions, streamsOf } from '../parts.ts';
import { Bus, type BusConnection } from './bus.ts';

export interface RigOptions {
  /** The procedures of each member. */
  readonly members?: readonly (readonly string[])[];
  readonly maxPayload?: number;
  readonly pool?: Partial<RemotePoolOptions>;
  readonly member?: Partial<MemberOptions>;
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
    for (const names of options.members ?? [['run']]) await rig.#addMember(names, options.member);
    while (!rig.remotes.every(({ channel }) => channel.isOpen)) await rig.turn();
    return rig;
  }

  private constructor({ maxPayload, pool }: RigOptions) {
    this.bus = new Bus(maxPayload);
    this.toMembers = this.bus.connect();
    this.toGateway = this.bus.connect();
    const { deadlines, streams } = streamsOf();
    this.#closers.push(async () => deadlines.close());
    const replyMemory = new ReplyMemory(2 ** 28);
    const options = { ...poolOptions, replyMemory, streams, ...pool };
    this.pool = new RemotePool(options, () => this.remotes, undefined);
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
  execute(call: Call): Promise<Reply> {
    return replyOf(this.pool, call);
  }

  /** Begins calls of one request. */
  executeInOrder(calls: readonly Call[]): Promise<readonly Reply[]> {
    return repliesOf(this.pool, calls);
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

  async close(): Promise<void> {
    this.toMembers.mayPublish = () => true;
    this.toGateway.mayPublish = () => true;
    await this.until(this.pool.close(0));
    for (const close of this.#closers) await close();
  }

  async #addMember(
    names: readonly string[],
    more: Partial<MemberOptions> | undefined,
  ): Promise<void> {
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
      maxRequestMs: longMs,
      maxReplyBytes: 2 ** 24,
      maxBodyBytes: 2 ** 24,
      maxInlineParamsBytes: 2 ** 24,
      logLevel: 'silent',
      metrics: false,
    });
    await service.ready();
    const id = `m${place}`;
    const member = memberOf(this.toGateway, service, id, Buffer.from('[]'), more);
    this.members.push(member);
    this.#closers.push(async () => {
      member.close();
      await service.close(0);
    });
    const subjects = new Subjects('s');
    const link = { connection: this.toMembers, subjects, id: 'gw', start: firstStart };
    const figures = { started: 0, load: 0, gateways: 0, calls: 0, returns: 0 };
    const heartbeat = { id, state: 'ready', contract: '', version: '1.0.0', ...figures } as const;
    const remote = new RemoteMember(link, heartbeat, this.pool);
    const served = describedBy(router);
    remote.procedures = served;
    for (const [name, procedure] of served) this.#procedures.set(name, procedure);
    this.remotes.push(remote);
  }
}

/** What a reply says: its result, or the code of its error. */
export function saidBy(reply: Reply): unknown {
  const text = typeof reply === 'string' ? reply : Buffer.from(reply ?? '').toString();
  const { result, error } = JSON.parse(text) as { result?: unknown; error?: { code: number } };
  return error?.code ?? result;
}
