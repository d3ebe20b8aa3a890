import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Member } from '../../src/nats/member/member.ts';
import { defaultRetention } from '../../src/nats/member/member-options.ts';
import { ReplyKind, readToGateway, type WireReply } from '../../src/nats/wire/to-gateway.ts';
import { acknowledgementText, FrameText, syncText } from '../../src/nats/wire/to-member.ts';
import { Dispatcher } from '../../src/service/dispatcher.ts';
import { Board } from '../dispatch/executors/board.ts';
import { fixture } from '../files.ts';
import { patience } from '../patience.ts';
import { Bus, type BusConnection } from './bus/bus.ts';

const timeoutMs = 600_000;

/** A member with one worker, and a gateway that writes its messages itself. */
class Wire {
  readonly bus = new Bus();
  readonly replies: WireReply[] = [];
  readonly #gateway: BusConnection = this.bus.connect();
  #session = 0;
  #frames = 0;

  static async open(t: TestContext): Promise<Wire> {
    const wire = new Wire();
    const service = new Dispatcher({
      ...patience,
      modules: [fixture('executors/procedures.ts')],
      workers: 1,
      spareWorkers: 0,
      niceIncrement: 0,
      timeoutMs,
      maxRequestMs: timeoutMs,
      logLevel: 'silent',
      metrics: false,
    });
    await service.ready();
    const member = new Member({
      connection: wire.bus.connect(),
      service,
      name: 's',
      id: 'm0',
      version: '1.0.0',
      started: 0,
      heartbeatMs: timeoutMs,
      silentMs: timeoutMs,
      maxBodyBytes: 2 ** 20,
      trustsAuth: true,
      authenticate: undefined,
      retention: defaultRetention,
      contract: () => ({ id: 'c', document: () => Buffer.from('[]') }),
    });
    t.after(async () => {
      member.close();
      await service.close(0);
    });
    wire.#gateway.subscribe('s.g.gw.>', ({ data }) => wire.#read(data));
    wire.#send(syncText('gw', { epoch: 1, session: 0, have: 0, next: 1 }));
    await wire.until(() => wire.#session > 0);
    return wire;
  }

  /** Calls that follow one another, by ticket, procedure and tag. */
  frame(...calls: readonly (readonly [ticket: number, method: string, tag: string])[]): void {
    const frame = new FrameText();
    for (const [i, [ticket, method, tag]] of calls.entries()) {
      const body = JSON.stringify({ jsonrpc: '2.0', method, params: { tag }, id: ticket });
      const head = { ticket, follows: i > 0, isRead: false, timeoutMs: -1, runMs: -1, facts: '{}' };
      frame.add(head, body);
    }
    this.#send(frame.toMessage('gw', { session: this.#session, n: ++this.#frames, ack: 0 }));
  }

  cancel(...cancelled: readonly number[]): void {
    const ack = { session: this.#session, ack: 0 };
    this.#send(acknowledgementText('gw', { ack, cancelled, granted: [], drained: [] }));
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  }

  #send(data: Uint8Array | string): void {
    this.#gateway.publish('s.m.m0', data);
  }

  #read(data: Uint8Array): void {
    const message = readToGateway(data);
    if (message.kind === 'synced') this.#session = message.answer.session;
    else if (message.kind === 'replies') this.replies.push(...message.replies);
  }
}

test('of a batch whose caller has gone no further call begins at its member', async (t) => {
  const wire = await Wire.open(t);
  const board = new Board();
  t.after(() => board.close());
  wire.frame([1, 'spin', 'spins']);
  await board.until('spins', 'began');
  // The one waits for the worker, the other would begin on the member's own thread.
  wire.frame([2, 'value', 'waits'], [3, 'untilAborted', 'follows']);
  wire.cancel(2, 3);
  await wire.until(() => wire.replies.length === 2);
  const told = wire.replies.map(({ ticket, kind, code, runUs }) => [ticket, kind, code, runUs]);
  assert.deepEqual(told, [
    [2, ReplyKind.final, -32003, -1],
    [3, ReplyKind.final, -32003, -1],
  ]);
});
