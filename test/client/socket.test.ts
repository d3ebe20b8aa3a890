import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient, RpcTransportError } from '../../src/client/index.ts';
import { type Socket, webSocket } from '../../src/client/socket.ts';

interface Sent {
  readonly id?: number;
  readonly method: string;
  readonly params?: unknown;
}

/** A socket whose other end is the test. */
class Fake implements Socket {
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  readonly url: string;
  readonly sent: (Sent | Sent[])[] = [];
  readonly #onSent: (socket: Fake) => void;

  constructor(url: string, onSent: (socket: Fake) => void) {
    this.url = url;
    this.#onSent = onSent;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Sent);
    this.#onSent(this);
  }

  /** All in one turn, as they come in one packet. */
  answer(...messages: unknown[]): void {
    for (const message of messages) this.onmessage?.({ data: JSON.stringify(message) } as never);
  }

  close(code = 1006): void {
    this.onclose?.({ code } as never);
  }
}

/**
 * A client whose sockets are opened and answered by the test.
 *
 * @param onSent is called for each message, with its socket and its number among them
 */
function scripted(onSent: (socket: Fake, message: Sent, nth: number) => void, refusals = 0) {
  const sockets: Fake[] = [];
  const waits: number[] = [];
  class Scripted extends Fake {
    constructor(url: string) {
      super(url, (socket) => onSent(socket, socket.sent.at(-1) as Sent, sockets.length));
      const isRefused = sockets.push(this) <= refusals;
      queueMicrotask(() => {
        if (isRefused) {
          this.onerror?.({ message: 'refused' } as never);
          this.close();
        } else this.onopen?.({} as never);
      });
    }
  }
  const wait = async (ms: number) => void waits.push(ms);
  const transport = webSocket({ WebSocket: Scripted, wait });
  const client = createClient({ url: 'http://x/rpc', transport, retries: 0 });
  return { client, transport, sockets, waits };
}

const subscribed = (id: unknown, subscription: string) => ({ id, result: subscription });
const value = (subscription: string, result: unknown) => ({
  method: 'm',
  params: { subscription, result },
});
const over = (subscription: string, outcome: object) => ({
  method: 'rpc.end',
  params: { subscription, ...outcome },
});

async function drained(stream: AsyncIterable<unknown>) {
  const values: unknown[] = [];
  const iterator = stream[Symbol.asyncIterator]();
  for (;;) {
    const { done, value: one } = await iterator.next();
    if (done) return { values, returned: one as unknown };
    values.push(one);
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a client over a WebSocket', () => {
  it('connects once, to the same address, and finds the call of each answer', async () => {
    const { client, sockets } = scripted((socket) => {
      if (socket.sent.length < 3) return;
      const batch = socket.sent.find((one) => Array.isArray(one)) as Sent[];
      const one = (socket.sent as Sent[]).find(({ method }) => method === 'a');
      socket.answer(
        { id: 1e9, result: 'nobody waits for it' },
        batch.map(({ id, method }) => ({ id, result: method })).reverse(),
        { id: one?.id, error: { code: 7, message: 'seven' } },
      );
    });
    const a = client.call('a');
    const b = client.batch([['b1'], ['b2']]);
    a.catch(() => {});
    assert.equal(await client.notify('n'), undefined);
    await assert.rejects(Promise.resolve(a), { code: 7, method: 'a' });
    assert.deepEqual(
      (await b).map((outcome) => outcome.ok && outcome.result),
      ['b1', 'b2'],
    );
    assert.deepEqual(
      sockets.map(({ url }) => url),
      ['ws://x/rpc'],
    );
  });

  it('reads values that come in one packet with the reply that names them, and two streams apart', async () => {
    const { client } = scripted((socket, { id, method }) => {
      const own = `0x${id}`;
      socket.answer(subscribed(id, own), value(own, `${method}1`), value(own, `${method}2`));
      socket.answer(over(own, { result: method }));
    });
    assert.deepEqual(await Promise.all([drained(client.call('a')), drained(client.call('b'))]), [
      { values: ['a1', 'a2'], returned: 'a' },
      { values: ['b1', 'b2'], returned: 'b' },
    ]);
  });

  it('unsubscribes where a loop is left, not where a stream has ended; what comes behind is not read', async () => {
    const { client, sockets } = scripted((socket, { id, method }) => {
      if (method === 'rpc.unsubscribe') socket.answer(value('0xa', 3), { id, result: true });
      else socket.answer(subscribed(id, '0xa'), value('0xa', 1), value('0xa', 2));
    });
    for await (const one of client.call('m')) if (one === 1) break;
    const methods = () => (sockets[0]!.sent as Sent[]).map(({ method }) => method);
    assert.deepEqual(methods(), ['m', 'rpc.unsubscribe']);
    assert.deepEqual((sockets[0]!.sent[1] as Sent).params, ['0xa']);
    const stream = client.call('m')[Symbol.asyncIterator]();
    await stream.next();
    await stream.next();
    const last = stream.next();
    sockets[0]!.answer(over('0xa', { error: { code: 7, message: 'seven' } }));
    await assert.rejects(last, { code: 7, method: 'm' });
    assert.deepEqual(methods(), ['m', 'rpc.unsubscribe', 'm']);
  });

  it('unsubscribes what is named after its reader has gone', async () => {
    const { client, sockets } = scripted(() => {});
    const stop = new AbortController();
    const stream = client.call('m', {}, { signal: stop.signal })[Symbol.asyncIterator]();
    const first = stream.next();
    await turn();
    stop.abort(new Error('enough'));
    await assert.rejects(first, /^Error: enough$/);
    const [socket] = sockets;
    socket!.answer(subscribed((socket!.sent[0] as Sent).id, '0xb'));
    assert.deepEqual((socket!.sent[1] as Sent).params, ['0xb']);
  });

  it('fails what waits when the connection is lost, and connects anew for the next call', async () => {
    const { client, sockets } = scripted((socket, { id }, nth) => {
      if (nth === 2) socket.answer({ id, result: 'again' });
    });
    const lost = client.call('m');
    lost.catch(() => {});
    const stream = client.call('m')[Symbol.asyncIterator]().next();
    stream.catch(() => {});
    await turn();
    sockets[0]!.close(1012);
    for (const one of [lost, stream]) {
      await assert.rejects(one, (error) => {
        assert.ok(error instanceof RpcTransportError, String(error));
        assert.match(error.message, /^http:\/\/x\/rpc: the connection closed \(1012\)$/);
        return true;
      });
    }
    assert.equal(await client.call('m'), 'again');
  });

  it('gives a reply without an id to the one request that it can be for', async () => {
    const { client, sockets } = scripted(() => {});
    const refused = { id: null, error: { code: -32004, message: 'Limit exceeded' } };
    const early = client.call('early');
    const batch = client.batch([['b1'], ['b2']]);
    await turn();
    const late = client.call('late');
    await turn();
    const [socket] = sockets;
    const idOf = (name: string) =>
      (socket!.sent as Sent[]).find(({ method }) => method === name)?.id;
    // It is for any of the three, and then for any of the last two.
    socket!.answer(refused);
    socket!.answer({ id: idOf('early'), result: 'early' });
    assert.equal(await early, 'early');
    const after = client.call('after');
    await turn();
    // What was sent later can't be meant.
    socket!.answer({ id: idOf('late'), result: 'late' });
    assert.equal(await late, 'late');
    const outcomes = await batch;
    assert.deepEqual(
      outcomes.map((outcome) => !outcome.ok && (outcome.error as { code?: number }).code),
      [-32004, -32004],
    );
    socket!.answer({ id: idOf('after'), result: 'after' });
    assert.equal(await after, 'after');
  });

  it('gives as many replies without an id as there are requests to all of them, streams too', async () => {
    const { client, sockets } = scripted(() => {});
    const call = client.call('call');
    const stream = client.call('stream')[Symbol.asyncIterator]().next();
    call.catch(() => {});
    stream.catch(() => {});
    await turn();
    const refusal = (code: number) => ({ id: null, error: { code, message: 'no' } });
    sockets[0]!.answer(refusal(1));
    sockets[0]!.answer(refusal(2));
    await assert.rejects(Promise.resolve(call), { code: 1 });
    await assert.rejects(stream, { code: 2 });
  });

  it('knows of a request that nobody waits for any more, until its reply has come', async () => {
    const { client, sockets } = scripted(() => {});
    const stop = new AbortController();
    const left = client.call('left', {}, { signal: stop.signal });
    left.catch(() => {});
    const kept = client.call('kept');
    await turn();
    stop.abort(new Error('enough'));
    await assert.rejects(Promise.resolve(left), /^Error: enough$/);
    sockets[0]!.answer({ id: null, error: { code: 1, message: 'no' } });
    sockets[0]!.answer({ id: (sockets[0]!.sent[1] as Sent).id, result: 'kept' });
    assert.equal(await kept, 'kept');
  });

  it('says why it could not connect', async () => {
    const { client } = scripted(() => {}, 1);
    await assert.rejects(
      Promise.resolve(client.call('m')),
      /^RpcTransportError: .*: refused \(1006\)$/,
    );
  });

  it('reconnects and subscribes again, with what the last value says', async () => {
    const { client, sockets, waits } = scripted((socket, { id }, nth) => {
      const own = `0x${nth}`;
      socket.answer(subscribed(id, own), value(own, nth));
      if (nth === 5) socket.answer(over(own, { result: 'done' }));
      else if (nth === 4) socket.answer(over(own, { error: { code: -32003, message: 'x' } }));
      if (nth < 5) socket.close(1012);
    }, 2);
    const reconnect = (last: unknown) => ({ after: last ?? null });
    const stream = client.call('m', { after: 0 }, { reconnect });
    assert.deepEqual(await drained(stream), { values: [3, 4, 5], returned: 'done' });
    assert.deepEqual(
      sockets.slice(2).map(({ sent }) => (sent[0] as Sent).params),
      [{ after: null }, { after: 3 }, { after: 4 }],
    );
    for (const [index, most] of [250, 500, 250, 250].entries()) {
      assert.ok(waits[index]! <= most && waits[index]! >= most / 2, `${index}: ${waits[index]}`);
    }
    assert.equal(waits.length, 4);
  });

  it('serves several clients, each over a connection of its own', async () => {
    const { client, transport, sockets } = scripted((socket, { id }) =>
      socket.answer({ id, result: socket.url }),
    );
    const other = createClient({ url: 'https://y/rpc', transport });
    const answers = Promise.all([client.call('m'), other.call('m'), client.call('m')]);
    assert.deepEqual(await answers, ['ws://x/rpc', 'wss://y/rpc', 'ws://x/rpc']);
    assert.equal(sockets.length, 2);
    transport.close();
    await assert.rejects(Promise.resolve(other.call('m')), /the client was closed/);
  });

  it('is closed for good', async () => {
    const { client, transport, sockets } = scripted(() => {});
    const call = client.call('m');
    call.catch(() => {});
    const stream = client.call('m', {}, { reconnect: true })[Symbol.asyncIterator]().next();
    stream.catch(() => {});
    await turn();
    transport.close();
    await assert.rejects(Promise.resolve(call), RpcTransportError);
    await assert.rejects(stream, /the client was closed/);
    await assert.rejects(Promise.resolve(client.call('m')), /the client was closed/);
    assert.equal(sockets.length, 1);
  });
});
