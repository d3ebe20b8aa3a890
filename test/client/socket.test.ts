import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient, RpcTransportError } from '../../src/client/index.ts';
import { type Socket, webSocket } from '../../src/client/socket.ts';
import { drained } from '../drained.ts';

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

/** Of a subscription, as the server makes them. */
const name = (n: number) => `0x${(2 ** 36 + n).toString(16)}`;
const subscribed = (id: unknown, name: string) => ({ id, result: name, subscription: true });
const value = (subscription: string, result: unknown) => ({
  method: 'm',
  params: { subscription, result },
});
const over = (subscription: string, outcome: object) => ({
  method: 'rpc.end',
  params: { subscription, ...outcome },
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a client over a WebSocket', () => {
  it('connects once, to the same address, and finds the call of each answer', async () => {
    const { client, sockets } = scripted((socket) => {
      if (socket.sent.length < 3) return;
      const batch = socket.sent.find((one) => Array.isArray(one)) as Sent[];
      const one = (socket.sent as Sent[]).find(({ method }) => method === 'a');
      socket.answer(batch.map(({ id, method }) => ({ id, result: method })).reverse(), {
        id: one?.id,
        error: { code: 7, message: 'seven' },
      });
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
      const own = name(id as number);
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
      if (method === 'rpc.unsubscribe') socket.answer(value(name(10), 3), { id, result: true });
      else socket.answer(subscribed(id, name(10)), value(name(10), 1), value(name(10), 2));
    });
    for await (const one of client.call('m')) if (one === 1) break;
    const methods = () => (sockets[0]!.sent as Sent[]).map(({ method }) => method);
    assert.deepEqual(methods(), ['m', 'rpc.unsubscribe']);
    assert.deepEqual((sockets[0]!.sent[1] as Sent).params, [name(10)]);
    const stream = client.call('m')[Symbol.asyncIterator]();
    await stream.next();
    await stream.next();
    const last = stream.next();
    sockets[0]!.answer(over(name(10), { error: { code: 7, message: 'seven' } }));
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
    socket!.answer(subscribed((socket!.sent[0] as Sent).id, name(11)));
    assert.deepEqual((socket!.sent[1] as Sent).params, [name(11)]);
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
    const idOf = (call: string) =>
      (socket!.sent as Sent[]).find(({ method }) => method === call)?.id;
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
      const own = name(nth);
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

  it('ends the subscription of a call that is awaited, and says what to do', async () => {
    const { client, sockets } = scripted((socket, { id, method }) => {
      if (method === 'rpc.unsubscribe') socket.answer({ id, result: true });
      else socket.answer(subscribed(id, name(id as number)));
    });
    const refusal = {
      name: 'RpcError',
      code: -32601,
      method: 'm',
      data: { reason: 'it streams: iterate the call (for await)' },
    };
    await assert.rejects(Promise.resolve(client.call('m')), refusal);
    const [call, end] = sockets[0]!.sent as Sent[];
    assert.deepEqual(end?.params, [name(call?.id as number)]);
  });

  it('ends it also where the call was aborted before its reply', async () => {
    const { client, sockets } = scripted(() => {});
    const stop = new AbortController();
    const call = client.call('m', {}, { signal: stop.signal });
    call.catch(() => {});
    await turn();
    stop.abort(new Error('enough'));
    await assert.rejects(Promise.resolve(call), /^Error: enough$/);
    const [socket] = sockets;
    socket!.answer(subscribed((socket!.sent[0] as Sent).id, name(1)));
    assert.deepEqual((socket!.sent[1] as Sent).params, [name(1)]);
    // A rejection that nobody hears would fail the test.
    socket!.close();
    await turn();
  });

  it('takes a text that looks like the name of a subscription as a result, and sends no rpc.unsubscribe', async () => {
    for (const text of ['0xabc', '0x1234567890', name(1), `0x${'a'.repeat(40)}`]) {
      const { client, sockets } = scripted((socket, { id }) => socket.answer({ id, result: text }));
      const read = client.call('m')[Symbol.asyncIterator]();
      assert.deepEqual(await read.next(), { done: true, value: text });
      assert.equal(await client.call('m'), text);
      assert.equal(sockets[0]!.sent.length, 2);
    }
  });

  const faults: Record<string, unknown> = {
    'that is no JSON': '<html>',
    null: 'null',
    'a number': '5',
    'a text': '"x"',
    'an empty array': '[]',
    'an array of null': '[null]',
    'an empty object': '{}',
    'a reply without an id': '{"result":1}',
    'a reply with an id that nobody has sent': '{"id":1000000000,"result":1}',
    'a reply with a text for an id': '{"id":"1","result":1}',
    'a binary one': new Blob(['{}']),
  };
  for (const [what, data] of Object.entries(faults)) {
    it(`ends the connection at a message that answers nothing: ${what}`, async () => {
      const { client, sockets } = scripted((socket, { id }, nth) => {
        if (nth === 2) socket.answer({ id, result: 'again' });
      });
      const call = client.call('m');
      call.catch(() => {});
      const batch = client.batch([['m'], ['m']]);
      const stream = client.call('m')[Symbol.asyncIterator]().next();
      stream.catch(() => {});
      await turn();
      let closed = 0;
      // As a WebSocket does whose other end is slow to say goodbye.
      sockets[0]!.close = () => void closed++;
      sockets[0]!.onmessage?.({ data } as never);
      const why = (error: unknown) => {
        assert.ok(error instanceof RpcTransportError, String(error));
        assert.match(error.message, /: a message is no JSON-RPC, or has an unknown id: "/);
        assert.equal(error.body, String(data));
        return true;
      };
      await assert.rejects(Promise.resolve(call), why);
      await assert.rejects(stream, why);
      for (const outcome of await batch) assert.ok(!outcome.ok && why(outcome.error));
      assert.equal(closed, 1);
      assert.equal(await client.call('m'), 'again');
      // What still comes of the old one is nobody's.
      sockets[0]!.onmessage?.({ data } as never);
      sockets[0]!.onclose?.({ code: 1006 } as never);
      assert.equal(await client.call('m'), 'again');
      assert.equal(sockets.length, 2);
    });
  }

  it('knows no id twice; ignores notifications of others, and the reply of a request that was given another', async () => {
    const { client, sockets } = scripted(() => {});
    const one = client.call('one');
    await turn();
    const [socket] = sockets;
    const idOf = (nth: number) => (socket!.sent[nth] as Sent).id;
    socket!.answer(value(name(1), 1), { method: 'hello' }, { method: 'm', params: null });
    // The server refused a message that it could not read. It was not this call, but nobody can know.
    socket!.answer({ id: null, error: { code: 1, message: 'no' } });
    await assert.rejects(Promise.resolve(one), { code: 1 });
    const two = client.call('two');
    const three = client.call('three');
    three.catch(() => {});
    await turn();
    socket!.answer({ id: idOf(0), result: 1 }, { id: idOf(1), result: 2 });
    assert.equal(await two, 2);
    socket!.answer({ id: idOf(1), result: 2 });
    await assert.rejects(Promise.resolve(three), RpcTransportError);
  });
});
