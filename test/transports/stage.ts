import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ConfigOptions, Dispatcher, Router, Type } from '../../src/index.ts';
import protocolRouter from '../fixtures/protocol/inline.ts';
import { patience } from '../patience.ts';
import { settled } from '../protocol/case.ts';
import { until } from '../turns.ts';
import type { Connection, SentFacts, Server, Subject, TransportOptions } from './subject.ts';

/** One call of `hold`: it runs until the case lets it go. */
export interface Held {
  readonly release: () => void;
  /** Resolves when the signal of the call aborts. */
  readonly aborted: Promise<void>;
}

/** What a case may set. */
export interface StageOptions extends Partial<TransportOptions> {
  readonly service?: ConfigOptions;
}

const sentinel = '{"jsonrpc":"2.0","id":"sentinel","method":"get_data"}';
const sentinelReply = '{"jsonrpc":"2.0","id":"sentinel","result":["hello",5]}';

/** A transport before a real service whose procedures run here, so that a case sees what they are given. */
export class Stage {
  readonly subject: Subject;
  readonly service: Dispatcher;
  readonly held: Held[] = [];
  readonly #events = new EventEmitter();
  readonly #connections: Connection[] = [];
  #server: Server | undefined;
  /** A service without workers, and a transport without sockets, would let the process end. */
  readonly #alive = setInterval(() => {}, 60_000);

  private constructor(subject: Subject, options: ConfigOptions) {
    this.subject = subject;
    const router = new Router();
    router.merge(protocolRouter);
    router.rpc({ name: 'hold', placement: 'inline' }, (_params, { signal }) => this.#hold(signal));
    const facts = Type.Object({ text: Type.String(), turns: Type.Integer() });
    router.rpc(
      { name: 'facts', placement: 'inline', params: facts },
      async ({ text, turns }, { headers, auth, traceparent }) => {
        for (let i = 0; i < turns; i++) await nextTurn();
        return { text, tenant: headers['x-tenant'], auth, traceparent };
      },
    );
    this.service = new Dispatcher({ ...patience, router, logLevel: 'silent', ...options });
  }

  static async open(subject: Subject, options: StageOptions): Promise<Stage> {
    const { service, maxMessageBytes = 10 * 1024 ** 2, askCaller } = options;
    const stage = new Stage(subject, { maxInlineParamsBytes: 4 * 1024 ** 2, ...service });
    await stage.service.ready();
    stage.#server = await subject.serve(stage.service, { maxMessageBytes, askCaller });
    return stage;
  }

  can(ability: Subject['can'][number]): boolean {
    return this.subject.can.includes(ability);
  }

  async connect(): Promise<Connection> {
    assert.ok(this.#server !== undefined);
    const connection = await this.#server.connect();
    this.#connections.push(connection);
    return connection;
  }

  /** Sends a message and gives its answer, undefined where there is none, and sees that no second one comes. */
  async ask(
    connection: Connection,
    message: string | Uint8Array,
    { facts, isAnswered = true }: { facts?: SentFacts; isAnswered?: boolean } = {},
  ): Promise<string | undefined> {
    await connection.send(message, facts);
    const hasAnswer = isAnswered || this.can('says-nothing');
    const reply = hasAnswer ? await connection.receive() : undefined;
    await this.assertSilent(connection);
    return reply === undefined ? undefined : settled(reply);
  }

  /** Nothing is left unread: the next answer is that of the next request. */
  async assertSilent(connection: Connection, facts: SentFacts = {}): Promise<void> {
    await connection.send(sentinel, facts);
    assert.equal(await connection.receive(), sentinelReply, 'the answer to the next request');
  }

  /** Resolves when so many calls of `hold` run. */
  async entered(count: number): Promise<void> {
    while (this.held.length < count) await once(this.#events, 'held');
  }

  /** The end of the transport; the service goes on. */
  closeServer(): Promise<void> {
    return this.#server?.close() ?? Promise.resolve();
  }

  /** Every case ends so: nobody is connected, and nothing is held in memory for anybody. */
  async close(): Promise<void> {
    for (const { release } of this.held) release();
    for (const connection of this.#connections) connection.leave();
    await this.closeServer();
    // A socket tells of its end a little later.
    const { bodyMemory, replyMemory } = this.service;
    await until(() => bodyMemory.stats().inUse + replyMemory.stats().waiting === 0);
    await until(() => this.service.stats().inFlight === 0);
    await this.service.close();
    clearInterval(this.#alive);
  }

  /** Ends what a failed case has left. */
  async abandon(): Promise<void> {
    clearInterval(this.#alive);
    await this.close().catch(() => {});
  }

  #hold(signal: AbortSignal): Promise<string> {
    return new Promise((resolve) => {
      const aborted = once(signal, 'abort').then(() => resolve('aborted'));
      this.held.push({ release: () => resolve('released'), aborted });
      this.#events.emit('held');
    });
  }
}
