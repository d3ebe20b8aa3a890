import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Ledger, slotCount } from '../../../src/core/workers/wire/ledger.ts';
import { moduleUrl } from '../../files.ts';
import { randomOf } from '../../jsonrpc/bodies.ts';
import { seed } from '../../seed.ts';

const ticket = (sequence: number, slot: number) => sequence * slotCount + slot;

test('a call that nobody waits for is known by its ticket', () => {
  const main = new Ledger();
  const replica = new Ledger(main.buffer);
  const [one, next] = [ticket(1, 7), ticket(2, 7)];
  for (const each of [one, next]) {
    main.send(each);
    assert.equal(replica.start(each, 5), true);
    assert.equal(replica.isCancelled(each), false);
    main.cancel(each);
    assert.equal(replica.isCancelled(each), true);
    assert.equal(main.startedAt(each), 5, 'it has started all the same');
    replica.leave();
  }
  assert.equal(replica.isCancelled(one), false, 'the slot is that of another call now');
});

test('a call is sent, then started or taken back', () => {
  const main = new Ledger();
  const replica = new Ledger(main.buffer);
  const [a, b, c] = [ticket(1, 0), ticket(2, 1), ticket(3, slotCount - 1)];
  for (const one of [a, b, c]) {
    assert.equal(replica.start(one, 5), false, 'not sent yet');
    main.send(one);
    assert.equal(main.startedAt(one), undefined);
    assert.equal(main.isRunning(one), false);
  }
  assert.equal(main.revoke(b), true);
  assert.equal(main.revoke(b), false);
  assert.equal(replica.start(b, 5), false);
  assert.equal(replica.start(a, 77), true);
  assert.equal(replica.start(a, 78), false);
  assert.equal(main.revoke(a), false);
  assert.equal(main.startedAt(a), 77);
  assert.deepEqual([main.isBusy(), main.isRunning(a), main.isRunning(c)], [true, true, false]);
  replica.leave();
  assert.deepEqual([main.isBusy(), main.isRunning(a)], [false, false]);
  assert.equal(main.startedAt(a), 77);
  assert.equal(replica.start(c, 80), true);
  assert.deepEqual([main.isRunning(a), main.isRunning(c)], [false, true]);
});

test('a stretch of a generator is told by its ticket and its start, and is no call', () => {
  const main = new Ledger();
  const replica = new Ledger(main.buffer);
  assert.deepEqual([main.stretch, main.isBusy()], [undefined, false]);
  replica.enterStretch(ticket(5, 7), 70);
  const first = main.stretch;
  assert.deepEqual([first?.ticket, first?.since], [ticket(5, 7), 70]);
  assert.deepEqual(
    [main.isBusy(), main.runningSlot >= 0, main.isRunning(ticket(5, 7))],
    [true, false, false],
  );
  replica.leave();
  assert.deepEqual([main.stretch, main.isBusy()], [undefined, false]);
  replica.enterStretch(ticket(5, 7), 80);
  assert.notEqual(main.stretch?.number, first?.number);
});

test('a stretch may look whether anybody still waits for its stream', () => {
  const main = new Ledger();
  const replica = new Ledger(main.buffer);
  const [one, other] = [ticket(5, 7), ticket(6, 7)];
  replica.enterStretch(one, 70);
  main.cancelStretch(other);
  assert.deepEqual([replica.isCancelled(one), replica.isCancelled(other)], [false, false]);
  main.cancelStretch(one);
  assert.deepEqual([replica.isCancelled(one), replica.isCancelled(other)], [true, false]);
});

test('an old ticket does nothing to the call that has its slot now', () => {
  const main = new Ledger();
  const replica = new Ledger(main.buffer);
  const [old, now] = [ticket(1, 7), ticket(9, 7)];
  main.send(old);
  assert.equal(main.revoke(old), true);
  main.send(now);
  assert.equal(replica.start(old, 10), false);
  assert.equal(main.revoke(old), false);
  assert.equal(replica.start(now, 20), true);
  // A batch that was taken back meets its old tickets when its running call has ended.
  assert.equal(replica.start(old, 30), false);
  assert.equal(main.startedAt(now), 20);
  assert.equal(main.startedAt(old), undefined);
});

test('sequences wrap without meeting each other', () => {
  const ledger = new Ledger();
  const far = 2 ** 33 + 5;
  ledger.send(ticket(far, 3));
  assert.equal(ledger.start(ticket(far - 1, 3), 1), false);
  assert.equal(ledger.start(ticket(far, 3), 1), true);
  assert.equal(ledger.startedAt(ticket(far, 3)), 1);
});

test('200,000 calls, claimed by one thread and taken back by another: each has one owner', async () => {
  const tickets = 1000;
  const rounds = 200;
  const ledger = new Ledger();
  const control = new Int32Array(new SharedArrayBuffer(6 * 4));
  const started = new Uint8Array(new SharedArrayBuffer(tickets * rounds));
  const revoked = new Uint8Array(tickets * rounds);
  const worker = new Worker(new URL('./ledger-claimant.mjs', import.meta.url), {
    workerData: {
      module: moduleUrl('src/core/workers/wire/ledger.ts'),
      ledger: ledger.buffer,
      control: control.buffer,
      started: started.buffer,
      tickets,
      rounds,
    },
  });
  await once(worker, 'message');
  const random = randomOf(seed);
  for (let round = 0; round < rounds; round++) {
    const first = ticket(round + 1, 0);
    for (let i = 0; i < tickets; i++) ledger.send(first + i);
    // In turns each side waits until the other has got a stretch of the way; from there on they race.
    const ahead = 1 + random(tickets - 2);
    const mainLeads = round % 2 === 0;
    Atomics.store(control, 1, first);
    Atomics.store(control, 2, mainLeads ? ahead : 0);
    Atomics.store(control, 3, 0);
    Atomics.store(control, 4, 0);
    Atomics.store(control, 0, round + 1);
    if (!mainLeads) while (Atomics.load(control, 4) < ahead);
    for (let n = 0; n < tickets; n++) {
      // Every fourth round from the end, so that they meet head on.
      const i = round % 4 === 3 ? tickets - 1 - n : n;
      if (ledger.revoke(first + i)) revoked[round * tickets + i]!++;
      Atomics.store(control, 3, n + 1);
    }
    while (Atomics.load(control, 5) <= round);
  }
  await worker.terminate();
  let claimed = 0;
  for (let i = 0; i < tickets * rounds; i++) {
    assert.equal(started[i]! + revoked[i]!, 1, `ticket ${i}: ${started[i]} and ${revoked[i]}`);
    claimed += started[i]!;
  }
  // Each round's head start alone sees to it.
  assert.ok(claimed >= rounds / 2, `${claimed} started`);
  assert.ok(tickets * rounds - claimed >= rounds / 2, `${tickets * rounds - claimed} taken back`);
});
