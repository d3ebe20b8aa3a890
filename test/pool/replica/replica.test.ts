import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { BodyMemory } from '../../../src/core/dispatch/body-memory.ts';
import type { Call } from '../../../src/core/dispatch/call.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { Router, tableOf } from '../../../src/core/procedures/router.ts';
import { Replica } from '../../../src/core/workers/replica/replica.ts';
import { FrameBuilder } from '../../../src/core/workers/wire/frame.ts';
import { Ledger, slotCount } from '../../../src/core/workers/wire/ledger.ts';
import { Outbox, ReplicaSender } from '../../../src/core/workers/wire/messages.ts';

/** A replica without a thread: its frames are made and its results are read here. */
class Bench {
  readonly ran: string[] = [];
  readonly ledger = new Ledger();
  readonly #channel = new MessageChannel();
  readonly #outbox = new Outbox();
  readonly #router = new Router();
  readonly #replica: Replica;
  readonly #frame = new FrameBuilder(new BodyMemory(2 ** 30, 2 ** 28));
  #end: (() => void) | undefined;

  constructor() {
    this.#router.rpc({ name: 'note' }, ({ name }) => {
      this.ran.push(name as string);
    });
    this.#router.rpc({ name: 'wait' }, ({ name }) => {
      this.ran.push(name as string);
      return new Promise<void>((resolve) => {
        this.#end = resolve;
      });
    });
    const options = {
      maxDepth: 64,
      strict: false,
      checkResults: 'refuse' as const,
      maxReplyBytes: 1000,
      tracing: false,
    };
    const sender = new ReplicaSender(this.#channel.port1, new Outbox(this.#outbox.buffer));
    this.#replica = new Replica(sender, this.ledger, tableOf(this.#router), options, 0);
  }

  /** Puts a call into the next frame, and gives its ticket. */
  add(slot: number, method: string, name: string, follows: 0 | 1, sequence = 1): number {
    const ticket = sequence * slotCount + slot;
    const source = JSON.stringify({ name });
    const procedure = tableOf(this.#router).get(method)!;
    const scope = new RequestScope();
    const call: Call = {
      procedure,
      id: `"${name}"`,
      params: {},
      source,
      start: 0,
      end: source.length,
      scope,
    };
    this.#frame.add(call, ticket, follows === 1, false, 1000);
    this.ledger.send(ticket);
    return ticket;
  }

  run(): void {
    this.#replica.run(this.#frame.take());
  }

  async endWait(): Promise<void> {
    this.#end?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Tickets of the results that were posted, in their order. */
  posted(): number[] {
    const tickets: number[] = [];
    this.#outbox.drain((ticket) => tickets.push(ticket));
    return tickets;
  }

  close(): void {
    this.#channel.port1.close();
  }
}

test('a chain runs in order, and each result is posted as its call ends', async (t) => {
  const bench = new Bench();
  t.after(() => bench.close());
  const tickets = [
    bench.add(0, 'note', 'a', 0),
    bench.add(1, 'wait', 'b', 1),
    bench.add(2, 'note', 'c', 1),
    bench.add(3, 'note', 'd', 0),
  ];
  bench.run();
  assert.deepEqual(bench.ran, ['a', 'b', 'd']);
  assert.deepEqual(bench.posted(), [tickets[0], tickets[3]]);
  await bench.endWait();
  assert.deepEqual(bench.ran, ['a', 'b', 'd', 'c']);
  assert.deepEqual(bench.posted(), [tickets[1], tickets[2]]);
});

test('behind a call that was taken back nothing of its batch runs here', async (t) => {
  const bench = new Bench();
  t.after(() => bench.close());
  bench.add(0, 'note', 'a', 0);
  const second = bench.add(1, 'note', 'b', 1);
  bench.add(2, 'note', 'c', 1);
  bench.add(3, 'note', 'other', 0);
  // The main thread takes back one after another: this one first, when the replica gets there.
  assert.equal(bench.ledger.revoke(second), true);
  bench.run();
  assert.deepEqual(bench.ran, ['a', 'other']);
});

test('nor when the call before it has waited meanwhile', async (t) => {
  const bench = new Bench();
  t.after(() => bench.close());
  bench.add(0, 'wait', 'a', 0);
  const second = bench.add(1, 'note', 'b', 1);
  bench.add(2, 'note', 'c', 1);
  bench.run();
  assert.equal(bench.ledger.revoke(second), true);
  await bench.endWait();
  assert.deepEqual(bench.ran, ['a']);
});
