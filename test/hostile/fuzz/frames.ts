import assert from 'node:assert/strict';
import fc from 'fast-check';
import { frame, opcodes, RawSocket } from '../../http/socket/raw-socket.ts';
import { orHang } from '../../or-hang.ts';
import { settled } from '../../protocol/case.ts';
import { servers } from '../../servers.ts';
import { placedProcedures, referenceOf, withoutHints } from '../reference.ts';
import { Target } from '../target.ts';
import {
  brokenFrame,
  type FrameCase,
  frameCase,
  framesOf,
  type Move,
  writesOf,
} from './frame-case.ts';
import { assertProperty, type Fuzzer } from './run.ts';

/** Until a hang is told. */
const hangMs = 60_000;

interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number };
  readonly method?: string;
  readonly params?: { readonly subscription: string; readonly result?: unknown };
}

/** One stream that the client has asked for. */
interface Asked {
  readonly count: number;
  readonly leaveAfter: number | undefined;
  subscription: string | undefined;
  values: number;
  /** The client has said that it leaves, and has not been answered. */
  isLeaving: boolean;
  over: 'left' | 'ended' | undefined;
}

/** One connection: what was sent on it, what must be answered, and what has come. */
class Conversation {
  readonly #socket: RawSocket;
  /** Answers that are still due, each as often as it is. */
  readonly #due = new Map<string, number>();
  readonly #streams: Asked[] = [];
  readonly #lengths: readonly number[];
  /** The rest of the moves may not arrive, so that nothing is owed: what comes is still looked at. */
  #isBroken = false;

  constructor(socket: RawSocket, lengths: readonly number[]) {
    this.#socket = socket;
    this.#lengths = lengths;
  }

  get isOver(): boolean {
    const isDue = [...this.#due.values()].some((count) => count > 0);
    return !isDue && this.#streams.every(({ over, isLeaving }) => over !== undefined && !isLeaving);
  }

  async move(one: Move): Promise<void> {
    switch (one.kind) {
      case 'message': {
        const { reply } = referenceOf(Buffer.from(one.text), placedProcedures);
        if (reply !== undefined) this.#due.set(reply, (this.#due.get(reply) ?? 0) + 1);
        return this.#write(framesOf(one));
      }
      case 'stream': {
        const { place, count, leaveAfter } = one;
        const id = `stream ${this.#streams.length}`;
        const asked = { count, leaveAfter, subscription: undefined, values: 0 };
        this.#streams.push({ ...asked, isLeaving: false, over: undefined });
        const request = { jsonrpc: '2.0', id, method: `${place}count`, params: { count } };
        return this.#write(frame(JSON.stringify(request)));
      }
      case 'ping':
        return this.#write(frame('p'.repeat(one.size), { opcode: opcodes.ping }));
    }
  }

  async break(bytes: Buffer): Promise<void> {
    this.#isBroken = true;
    await this.#write(bytes);
  }

  /** Reads until nothing is owed; of a broken connection, until it ends. */
  async read(): Promise<void> {
    while (this.#isBroken || !this.isOver) {
      let text: string;
      try {
        text = await this.#receive();
      } catch (error) {
        assert.ok(this.#isBroken, `${String(error)}, and due: ${[...this.#due.keys()].join()}`);
        return;
      }
      await this.#take(text);
    }
  }

  async #receive(): Promise<string> {
    for (;;) {
      const { opcode, payload } = await this.#socket.frame();
      if (opcode === opcodes.text) return payload.toString();
      if (opcode === opcodes.close) throw new Error(`closed with ${payload.toString('hex')}`);
    }
  }

  async #take(text: string): Promise<void> {
    const message = JSON.parse(text) as Message;
    if (message.method !== undefined) return this.#notified(message);
    const own = /^(stream|leave) (\d+)$/.exec(String(message.id));
    const asked = this.#streams[Number(own?.[2] ?? Number.NaN)];
    if (asked === undefined) {
      const got = withoutHints(settled(text));
      const due = this.#due.get(got) ?? 0;
      // What breaks a connection may itself be a message.
      assert.ok(due > 0 || this.#isBroken, `nothing asked for ${text}`);
      this.#due.set(got, due - 1);
    } else if (own?.[1] === 'leave') {
      assert.ok(asked.isLeaving, 'a second answer');
      asked.isLeaving = false;
      // The end may have been under way.
      assert.equal(message.result, asked.over === undefined);
      asked.over ??= 'left';
    } else {
      assert.equal(asked.subscription, undefined, 'a second reply');
      assert.match(String(message.result), /^0x[\da-f]+$/, text);
      asked.subscription = String(message.result);
      await this.#leaveWhere(asked);
    }
  }

  async #notified({ method, params }: Message): Promise<void> {
    const asked = this.#streams.find(({ subscription }) => subscription === params?.subscription);
    assert.ok(asked !== undefined, `nobody subscribed to ${params?.subscription}`);
    assert.equal(asked.over, undefined, `${method} behind the end`);
    if (method === 'rpc.end') {
      assert.equal(params?.result, asked.count);
      assert.equal(asked.values, asked.count, 'values that came before the end');
      asked.over = 'ended';
      return;
    }
    assert.match(String(method), /^(in|out)\.count$/);
    assert.equal(params?.result, asked.values++, 'values in order, none twice');
    await this.#leaveWhere(asked);
  }

  async #leaveWhere(asked: Asked): Promise<void> {
    if (asked.values !== asked.leaveAfter || asked.isLeaving || this.#isBroken) return;
    asked.isLeaving = true;
    const id = `leave ${this.#streams.indexOf(asked)}`;
    const params = [asked.subscription];
    const request = { jsonrpc: '2.0', id, method: 'rpc.unsubscribe', params };
    await this.#write(frame(JSON.stringify(request)));
  }

  async #write(bytes: Buffer): Promise<void> {
    for (const part of writesOf(bytes, this.#lengths)) await this.#socket.client.write(part);
  }
}

/**
 * Conversations over WebSockets: messages in any fragments and writes, streams that are read and left, pings, and at the end a
 * frame that may not be. Each message has exactly the answer of the reference, each stream its values once and in order,
 * then one end; nothing else comes, and whatever breaks one connection leaves the others alone.
 */
export class FrameFuzzer implements Fuzzer {
  readonly #targets: readonly Target[];

  private constructor(targets: readonly Target[]) {
    this.#targets = targets;
  }

  static async start(): Promise<FrameFuzzer> {
    const targets = [];
    for (const transport of servers) targets.push(await Target.start(transport, 'frames'));
    return new FrameFuzzer(targets);
  }

  async run(parameters: Parameters<Fuzzer['run']>[0]): Promise<void> {
    const property = fc.asyncProperty(frameCase, async (one) => {
      for (const target of this.#targets) {
        try {
          await this.#check(target, one);
        } catch (error) {
          throw new Error(`on ${target.transport}: ${String(error)}`, { cause: error });
        }
      }
    });
    await assertProperty(property, parameters);
  }

  async close(): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.close()));
  }

  async #check(target: Target, { moves, broken, writes }: FrameCase): Promise<void> {
    const other = await RawSocket.open(target.client());
    const socket = await RawSocket.open(target.client());
    try {
      const conversation = new Conversation(socket, writes);
      for (const one of moves) await conversation.move(one);
      if (broken === undefined) {
        await orHang('the answers', conversation.read(), hangMs);
      } else {
        await conversation.break(brokenFrame(broken));
        const read = conversation.read();
        await orHang('another connection', askOther(other), hangMs);
        // A half frame is waited for: its client goes.
        socket.client.socket.end();
        await orHang('the end of the connection', read, hangMs);
      }
      await orHang('another connection', askOther(other), hangMs);
    } finally {
      other.destroy();
      socket.destroy();
    }
  }
}

async function askOther(other: RawSocket): Promise<void> {
  const reply = await other.ask('[{"id":1,"method":"in.runs"},{"id":2,"method":"out.runs"}]');
  const ids = (JSON.parse(reply) as readonly { readonly id: number }[]).map(({ id }) => id);
  assert.deepEqual(ids, [1, 2]);
}
