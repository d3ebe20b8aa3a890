import assert from 'node:assert/strict';
import type { Msg, NatsConnection } from 'nats';
import { settled } from '../../protocol/case.ts';
import { placedProcedures, referenceOf, withoutHints } from '../reference.ts';
import type { Move } from './nats-case.ts';

const fresh = { behind: undefined, isOver: false, isGivenBack: false } as const;

const notRun = 2;
const opened = 4;
const value = 1;

/** What one ticket must come to. */
interface Due {
  /** undefined: nothing is answered. */
  readonly reply: string | undefined;
  /** Values of its stream that are still due; undefined: it is none. */
  readonly values: { next: number; readonly count: number } | undefined;
  /** The call that it comes behind. */
  readonly behind: Due | undefined;
  isOver: boolean;
  /** It has not run: another member may be asked. */
  isGivenBack: boolean;
}

interface Head {
  readonly s?: number;
  readonly n?: number;
  readonly got?: number;
  readonly synced?: number;
  readonly gap?: number;
  readonly r?: readonly number[];
}

/**
 * A gateway that was written apart, from docs/protocol.md ("Frames over NATS"): one session with one member. Each of its calls must
 * have the one answer of the reference, each stream its values in order and then its end.
 */
export class ModelGateway {
  readonly #nats: NatsConnection;
  readonly #service: string;
  readonly #member: string;
  readonly #id: string;
  readonly #due = new Map<number, Due>();
  #session = 0;
  #frames = 0;
  #tickets = 0;
  /** Messages with replies that have come. */
  #have = 0;
  #fault: Error | undefined;
  #onChange: () => void = () => {};

  /** @param id letters and digits, new for each */
  constructor(nats: NatsConnection, service: string, member: string, id: string) {
    this.#nats = nats;
    this.#service = service;
    this.#member = member;
    this.#id = id;
  }

  /** Does what it is told, and reads until nothing is due. */
  async run(moves: readonly Move[], between: () => void): Promise<void> {
    const subscription = this.#nats.subscribe(`${this.#service}.g.${this.#id}.>`, {
      callback: (error, message) => this.#take(error, message),
    });
    try {
      this.#send({ sync: 1, s: 0, have: 0, next: 1 });
      await this.#until(() => this.#session > 0);
      for (const one of moves) {
        this.#move(one);
        between();
      }
      await this.#until(() => [...this.#due.values()].every(({ isOver }) => isOver));
      this.#send({ s: this.#session, a: this.#have });
    } finally {
      subscription.unsubscribe();
    }
  }

  async #until(condition: () => boolean): Promise<void> {
    while (this.#fault === undefined && !condition()) {
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
    if (this.#fault !== undefined) throw this.#fault;
  }

  #move(one: Move): void {
    switch (one.kind) {
      case 'frame': {
        let behind: Due | undefined;
        const calls = one.bodies.flatMap((body, i) => {
          const flags = one.inOrder && i > 0 ? 1 : 0;
          const ticket = this.#expect(body, one.inOrder ? behind : undefined);
          behind = this.#due.get(ticket);
          return [ticket, flags, -1, -1, -1, body.length];
        });
        const head = { ...this.#mark(), c: calls };
        this.#send(head, one.bodies.join(''));
        if (one.isRepeated) this.#send(head, one.bodies.join(''));
        break;
      }
      case 'large': {
        const ticket = this.#expect(one.body);
        const bytes = Buffer.from(one.body);
        const ends = [...new Set(one.cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
        let at = 0;
        for (const end of ends) {
          this.#send({ ...this.#mark(), p: [ticket, bytes.length] }, bytes.subarray(at, end));
          at = end;
        }
        this.#send({ ...this.#mark(), c: [ticket, 0, -1, -1, -1, -1] }, bytes.subarray(at));
        break;
      }
      case 'stream': {
        const ticket = ++this.#tickets;
        const values = { next: 0, count: one.count };
        this.#due.set(ticket, { reply: undefined, values, ...fresh });
        const params = { count: one.count };
        const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: `${one.place}count`, params });
        this.#send({ ...this.#mark(), c: [ticket, 2, -1, -1, -1, text.length] }, text);
      }
    }
  }

  /** @returns the ticket of a call that must have the answer of the reference */
  #expect(body: string, behind?: Due): number {
    const { reply } = referenceOf(Buffer.from(body), placedProcedures);
    this.#due.set(++this.#tickets, { reply, values: undefined, ...fresh, behind });
    return this.#tickets;
  }

  #mark(): object {
    return { s: this.#session, n: ++this.#frames, a: this.#have };
  }

  #send(head: object, rest: string | Uint8Array = ''): void {
    const line = Buffer.from(`${JSON.stringify({ g: this.#id, ...head })}\n`);
    this.#nats.publish(
      `${this.#service}.m.${this.#member}`,
      Buffer.concat([line, Buffer.from(rest as Uint8Array)]),
    );
  }

  #take(error: Error | null, { data }: Msg): void {
    try {
      assert.equal(error, null);
      this.#read(Buffer.from(data));
    } catch (fault) {
      this.#fault ??= fault as Error;
    }
    this.#onChange();
  }

  #read(data: Buffer): void {
    const end = data.indexOf(10);
    const line = end === -1 ? data : data.subarray(0, end);
    const head = JSON.parse(line.toString()) as Head;
    if (head.gap !== undefined) {
      // On a machine that is busy the member waits for word of its replies. A frame that is missing would never be answered.
      this.#send({ s: this.#session, a: this.#have });
      return;
    }
    if (head.synced !== undefined) {
      assert.equal(head.synced, 1);
      this.#session = head.s ?? 0;
      return;
    }
    if (head.n === undefined) return;
    assert.deepEqual([head.s, head.n], [this.#session, this.#have + 1], 'replies in their order');
    assert.ok((head.got ?? 0) <= this.#frames, 'it has frames that were never sent');
    this.#have++;
    const texts = end === -1 ? '' : data.subarray(end + 1).toString();
    let at = 0;
    const numbers = head.r ?? [];
    for (let i = 0; i + 5 <= numbers.length; i += 5) {
      const [ticket = 0, kind = 0, code = 0, , length = 0] = numbers.slice(i);
      const text = length === -1 ? texts : texts.slice(at, at + length);
      at += text.length;
      this.#answered(ticket, kind, code, text);
    }
  }

  #answered(ticket: number, kind: number, code: number, text: string): void {
    const due = this.#due.get(ticket);
    assert.ok(due !== undefined, `an answer to ticket ${ticket}, which was not sent`);
    assert.equal(due.isOver, false, `a second answer to ticket ${ticket}`);
    if (due.values === undefined) {
      due.isOver = true;
      due.isGivenBack = kind === notRun;
      // What follows a call that has not run must not run before it.
      if (due.behind?.isGivenBack === true) {
        assert.deepEqual([kind, code, text], [notRun, 0, '']);
        return;
      }
      assert.ok(kind === 0 || (kind === notRun && code === -32601), `kind ${kind}, code ${code}`);
      assert.equal(withoutHints(settled(text)), due.reply ?? '');
      return;
    }
    const { values } = due;
    switch (kind) {
      case opened:
        // In totals: said twice, it is no more.
        for (let times = 0; times < 2; times++) {
          this.#send({ s: this.#session, a: this.#have, w: [ticket, 1000, 1_000_000] });
        }
        break;
      case value:
        assert.equal(text, String(values.next++), 'values in order, none twice');
        break;
      default:
        due.isOver = true;
        assert.deepEqual([kind, text, values.next], [5, String(values.count), values.count]);
    }
  }
}
