import { once } from 'node:events';
import { WebSocket } from 'ws';
import { orHang } from '../../or-hang.ts';
import { type Plan, toRequest } from '../plans.ts';
import { pause } from './server.ts';
import type { StreamMessage, StreamReader } from './stream-reader.ts';

/** A WebSocket on which calls and streams go on beside each other. */
export class SoakSocket {
  readonly #socket: WebSocket;
  readonly #answers = new Map<unknown, (message: StreamMessage) => void>();
  readonly #streams = new Map<
    unknown,
    { readonly reader: StreamReader; readonly onChange: () => void }
  >();
  /** Subscriptions that were left. Nothing may come for them. */
  readonly #left = new Set<unknown>();
  /** What may not be, each in a line. */
  readonly #violations: string[];
  #asked = 0;
  /**
   * Refusals that do not say for which message: there was no memory for it, so nobody has read its id. When all other messages have
   * their answers, the refusals are for those that are left. Nothing is sent until then.
   */
  #refusals: StreamMessage[] = [];
  #settled: Promise<void> = Promise.resolve();
  #onSettled = (): void => {};

  private constructor(socket: WebSocket, violations: string[]) {
    this.#socket = socket;
    this.#violations = violations;
    socket.on('message', (data) =>
      this.#take(JSON.parse((data as Buffer).toString()) as StreamMessage),
    );
    socket.on('error', () => {});
    socket.on('close', () => {
      const gone = { error: { code: 0, data: { reason: 'the socket has closed' } } };
      for (const answer of this.#answers.values()) answer(gone);
      for (const { reader, onChange } of this.#streams.values()) {
        reader.lost('the socket has closed');
        onChange();
      }
    });
  }

  /** @param name who calls */
  static async open(url: string, violations: string[], name: string): Promise<SoakSocket> {
    const headers = { authorization: name };
    const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers });
    const made = new SoakSocket(socket, violations);
    await once(socket, 'open');
    return made;
  }

  call(plan: Plan): Promise<StreamMessage> {
    return this.#ask(toRequest(plan), plan.id);
  }

  /**
   * Reads a stream to its end.
   *
   * @param leaveAfter leaves behind so many values
   */
  async read(reader: StreamReader, leaveAfter: number): Promise<void> {
    let onChange = (): void => {};
    const { plan } = reader;
    // Its first values may come in the same packet as its id.
    const opened = this.#ask(toRequest(plan), plan.id, ({ result }) => {
      if (result !== undefined) this.#streams.set(result, { reader, onChange: () => onChange() });
    });
    const { result: id, error } = await opened;
    if (error !== undefined) {
      reader.end({ error });
      return;
    }
    while (!reader.isOver && reader.values < leaveAfter) {
      const changed = new Promise<void>((resolve) => {
        onChange = resolve;
      });
      await orHang(`stream ${plan.params.n}`, changed);
    }
    if (reader.isOver) return;
    const result = await this.#leave(id);
    if (result === reader.isOver) {
      this.#violations.push(
        `stream ${plan.params.n}: unsubscribed ${result}, over ${reader.isOver}`,
      );
    }
    if (!reader.isOver) reader.left();
  }

  /** Leaves a stream. Refused, since too much is asked for at once, it goes on and is left later. */
  async #leave(id: unknown): Promise<unknown> {
    for (;;) {
      const leave = { jsonrpc: '2.0', id: `leave ${++this.#asked}`, method: 'rpc.unsubscribe' };
      const { result, error } = await this.#ask({ ...leave, params: [id] }, leave.id, (answer) => {
        if (answer.error !== undefined) return;
        this.#streams.delete(id);
        this.#left.add(id);
      });
      if (error?.code !== -32_000) return result;
      await pause(50);
    }
  }

  /** Reads nothing for a while. */
  stall(ms: number): void {
    this.#socket.pause();
    setTimeout(() => this.#socket.resume(), ms);
  }

  close(): void {
    this.#socket.terminate();
  }

  async #ask(
    request: object,
    id: unknown,
    onAnswer: (message: StreamMessage) => void = () => {},
  ): Promise<StreamMessage> {
    while (this.#refusals.length > 0) await orHang('answers beside a refusal', this.#settled);
    const answer = new Promise<StreamMessage>((resolve) => {
      this.#answers.set(id, (message) => {
        onAnswer(message);
        resolve(message);
      });
    });
    this.#socket.send(JSON.stringify(request));
    return orHang(`an answer to ${String(id)}`, answer);
  }

  #take(message: StreamMessage): void {
    const { id, method, params } = message;
    if (method === undefined) {
      if (id === null && message.error?.code === -32_000) this.#refuse(message);
      else this.#answer(id, message);
      this.#settleRefusals();
      return;
    }
    const stream = this.#streams.get(params?.subscription);
    if (stream === undefined) {
      const behind = this.#left.has(params?.subscription) ? ' behind its leave' : '';
      this.#violations.push(`${method} for ${String(params?.subscription)}${behind}`);
      return;
    }
    if (method === 'rpc.end') {
      this.#streams.delete(params?.subscription);
      stream.reader.end(params ?? {});
    } else {
      stream.reader.value(params?.result);
    }
    stream.onChange();
  }

  #answer(id: unknown, message: StreamMessage): void {
    const answer = this.#answers.get(id);
    this.#answers.delete(id);
    if (answer === undefined) this.#violations.push(`nobody asked for an answer to ${String(id)}`);
    answer?.(message);
  }

  #refuse(message: StreamMessage): void {
    if (this.#refusals.length === 0) {
      this.#settled = new Promise((resolve) => {
        this.#onSettled = resolve;
      });
    }
    this.#refusals.push(message);
  }

  #settleRefusals(): void {
    if (this.#refusals.length === 0 || this.#answers.size > this.#refusals.length) return;
    const refusals = this.#refusals;
    this.#refusals = [];
    const refused = [...this.#answers.keys()];
    for (const [at, message] of refusals.entries())
      this.#answer(refused[at], { ...message, id: refused[at] });
    this.#onSettled();
  }
}
