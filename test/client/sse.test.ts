import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient, type Fetch, RpcTransportError } from '../../src/client/index.ts';
import { sse } from '../../src/client/sse.ts';
import { startModule } from '../cli/process.ts';
import { drained } from '../drained.ts';

/** What one POST is answered with: pieces of a body, then its end, or a loss of the connection. */
interface Script {
  readonly pieces: readonly (string | Uint8Array)[];
  readonly isLost?: boolean;
  readonly type?: string;
}

interface Posted {
  readonly id: number;
  readonly params: unknown;
  readonly accept: string | null;
  readonly signal: AbortSignal;
}

/** A server that answers each POST as its script says, and a client that waits for nothing. */
function scripted(...scripts: ((id: number) => Script | Error)[]) {
  const posted: Posted[] = [];
  const waits: number[] = [];
  const fetch: Fetch = async (_url, { body, headers, signal }) => {
    const { id, params } = JSON.parse(body) as { id: number; params: unknown };
    posted.push({ id, params, accept: headers.get('accept'), signal });
    const script = scripts[posted.length - 1]!(id);
    if (script instanceof Error) throw script;
    const left = [...script.pieces];
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = left.shift();
        if (piece !== undefined) {
          controller.enqueue(typeof piece === 'string' ? new TextEncoder().encode(piece) : piece);
        } else if (script.isLost) controller.error(new Error('reset'));
        else controller.close();
      },
    });
    const type = script.type ?? 'text/event-stream; charset=utf-8';
    return new Response(stream, { headers: { 'content-type': type } });
  };
  const wait = async (ms: number) => void waits.push(ms);
  const client = createClient({ url: 'http://x/rpc', fetch, streams: sse({ wait }) });
  return { client, posted, waits };
}

const value = (result: unknown) =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'm', params: { subscription: 1, result } })}\n\n`;
const end = (id: number, result: unknown) =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
const failed = (id: number, code: number, data?: object) =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'x', data } })}\n\n`;

/** The bytes of a text, in pieces of one size. */
function cut(text: string, size: number): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  );
}

describe('the reader of server-sent events', () => {
  const written = (id: number) =>
    `\uFEFF: hello\n\n${value('ä\u2028€😀')}event: x\nid: 9\nretry: 1\ndata\n${value({ a: [1] })}:\n\n` +
    `data: {"jsonrpc":"2.0",\ndata:"method":"m","params":{"result":"two lines"}}\n\n\n${end(id, 'done')}`;
  const expected = { values: ['ä\u2028€😀', { a: [1] }, 'two lines'], returned: 'done' };

  it('takes them however they are cut, with any end of a line', async () => {
    const ends = {
      n: () => '\n',
      rn: () => '\r\n',
      mixed: (nth: number) => (nth % 2 ? '\n' : '\r\n'),
    };
    for (const [name, end] of Object.entries(ends)) {
      for (const size of [1, 2, 3, 4, 5, 6, 7, 64, 1e6]) {
        let nth = 0;
        const { client } = scripted((id) => ({
          pieces: cut(
            written(id).replaceAll('\n', () => end(nth++)),
            size,
          ),
        }));
        assert.deepEqual(await drained(client.call('m')), expected, `${name}, ${size}`);
      }
    }
    // A carriage return alone ends a line as well; whatever follows shows that no line feed does.
    const { client } = scripted((id) => ({
      pieces: cut(`${written(id).replaceAll('\n', '\r')}:\r`, 5),
    }));
    assert.deepEqual(await drained(client.call('m')), expected);
  });

  it('is done in time that grows with the length of a line, in however many pieces it comes', async () => {
    const long = 'x'.repeat(4_000_000);
    const { client } = scripted((id) => ({ pieces: cut(value(long) + end(id, null), 1000) }));
    assert.deepEqual(await drained(client.call('m')), { values: [long], returned: null });
  });

  it('asks for them with the call as it is, once, and closes the request where the loop is left', async () => {
    const { client, posted } = scripted(() => ({ pieces: [value(1), value(2)] }));
    for await (const one of client.call('m', { n: 1 })) if (one === 1) break;
    assert.equal(posted.length, 1);
    assert.deepEqual(posted[0]?.params, { n: 1 });
    assert.equal(posted[0].accept, 'text/event-stream, application/json');
    assert.ok(posted[0].signal.aborted);
  });

  it('says what it could not read', async () => {
    for (const [script, why] of [
      [{ pieces: [value(1)] }, /^http:\/\/x\/rpc \(200 text\/event-stream; .*broke off/],
      [{ pieces: [value(1)], isLost: true }, /broke off/],
      [{ pieces: ['data: {\n\n'] }, /broke off/],
      [{ pieces: ['data: null\n\n'] }, /broke off/],
      [{ pieces: [end(1e9, 1)] }, /unknown id: 1000000000/],
      [{ pieces: ['hello'], type: 'text/html' }, /not JSON: "hello"/],
    ] as const) {
      const { client, posted } = scripted(() => script);
      await assert.rejects(drained(client.call('m')), (error) => {
        assert.ok(error instanceof RpcTransportError, String(error));
        assert.match(error.message, why);
        return true;
      });
      assert.equal(posted.length, 1);
    }
  });

  it('refuses to iterate what can not be read', async () => {
    const { client, posted } = scripted();
    await assert.rejects(drained(client.call('m', { n: 1n })), TypeError);
    assert.equal(posted.length, 0);
  });
});

describe('a client without streams', () => {
  it('says at a loop what to add, and neither sends the call nor leaves a rejection that ends Node', async () => {
    const module = 'test/fixtures/client/iterates-unread.ts';
    const { code, stdout, stderr } = await startModule(module, []).exit;
    const refusal = 'TypeError: to iterate, add streams: sse() to createClient\n';
    assert.deepEqual([code, stdout, stderr], [0, `${refusal}0 sent\n`, '']);
  });

  it('refuses an iterated call with the same error where it is awaited too', async () => {
    const fetch: Fetch = () => Promise.reject(new Error('no'));
    const call = createClient({ url: 'http://x', fetch }).call('m');
    assert.throws(() => call[Symbol.asyncIterator](), /add streams: sse\(\)/);
    await assert.rejects(call, /^TypeError: to iterate, add streams: sse\(\) to createClient$/);
  });
});

describe('reconnect', () => {
  it('calls again after a loss, a restart, a lost worker and an overload, waiting longer each time', async () => {
    const { client, posted, waits } = scripted(
      () => new Error('refused'),
      () => ({ pieces: [] }),
      (id) => ({ pieces: [failed(id, -32000, { retryAfterMs: 60_000 })] }),
      (id) => ({ pieces: [failed(id, -32002, { reason: 'memory' })] }),
      () => ({ pieces: [value(1), value(2)], isLost: true }),
      (id) => ({ pieces: [failed(id, -32003, { reason: 'reload', retryAfterMs: 7 })] }),
      (id) => ({ pieces: [value(3), end(id, 'done')] }),
    );
    const stream = client.call('m', { n: 1 }, { reconnect: true });
    assert.deepEqual(await drained(stream), { values: [1, 2, 3], returned: 'done' });
    assert.deepEqual(
      posted.map(({ params }) => params),
      Array.from({ length: 7 }, () => ({ n: 1 })),
    );
    // Doubled from 250 ms, halved at most by chance, as long as the server asks; anew behind a value.
    const most = [250, 500, 60_000, 2000, 250, 500];
    for (const [index, ms] of waits.entries()) {
      const limit = most[index]!;
      assert.ok(ms <= limit && ms >= (limit === 60_000 ? limit : limit / 2), `${index}: ${ms}`);
    }
    assert.equal(waits.length, most.length);
  });

  it('waits 30 s at most', async () => {
    const refusals = Array.from({ length: 20 }, () => () => new Error('refused'));
    const { client, waits } = scripted(...refusals, (id) => ({ pieces: [end(id, null)] }));
    await drained(client.call('m', {}, { reconnect: true }));
    assert.equal(waits.length, 20);
    assert.ok(waits.slice(7).every((ms) => ms >= 15_000 && ms <= 30_000));
  });

  it('asks for what comes behind the last value', async () => {
    const { client, posted } = scripted(
      () => ({ pieces: [], isLost: true }),
      () => ({ pieces: [value({ at: 1 }), value({ at: 2 })], isLost: true }),
      (id) => ({ pieces: [value({ at: 3 }), end(id, null)] }),
    );
    const reconnect = (last: unknown) => ({ after: (last as { at: number } | undefined)?.at });
    const { values } = await drained(client.call('m', { after: 0 }, { reconnect }));
    assert.deepEqual(values, [{ at: 1 }, { at: 2 }, { at: 3 }]);
    assert.deepEqual(
      posted.map(({ params }) => params),
      [{ after: 0 }, {}, { after: 2 }],
    );
  });

  it('is not for what would come again, nor after a signal', async () => {
    for (const code of [-32601, -32602, -32603, -32001, -32004, 7]) {
      const { client, posted } = scripted((id) => ({ pieces: [failed(id, code)] }));
      await assert.rejects(drained(client.call('m', {}, { reconnect: true })), { code });
      assert.equal(posted.length, 1);
    }
    const stop = new AbortController();
    const { client, posted } = scripted(() => {
      stop.abort(new Error('enough'));
      return new Error('refused');
    });
    const stream = client.call('m', {}, { reconnect: true, signal: stop.signal });
    await assert.rejects(drained(stream), /^Error: enough$/);
    assert.equal(posted.length, 1);
  });
});
