import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { createClient, type RpcError } from '../../src/client/index.ts';
import { webSocket } from '../../src/client/socket.ts';
import { createCaller, RpcError as ServerError } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import refusing from '../fixtures/client/refusing.ts';
import { inReverse, startApp } from '../harness.ts';

const modules = [moduleUrl('test/fixtures/client/refusing.ts')];
const kinds = ['now', 'later', 'authorize', 'together', 'collected'] as const;
/** As the service marks what never ran, and what looks like it. */
const thrown = [
  { code: -32000 },
  {
    code: -32000,
    data: { reason: 'queue', limit: 'maxQueue', retryAfterMs: 1, retry: true, own: 2 ** 40 },
  },
  { code: -32000, data: { retry: true }, isHidden: true },
  { code: -32002, data: { reason: 'exit', retry: true } },
  { code: -32003, data: { retry: true } },
];

describe('the client runs a handler once, whatever it throws', () => {
  for (const transport of ['fetch', 'webSocket'] as const) {
    for (const place of ['inline', 'pooled'] as const) {
      it(`-32000, -32002 and -32003 with retry: true, ${place}, by ${transport}`, async (t) => {
        const own = inReverse(t);
        const { url } = await startApp(own, { modules });
        const socket = webSocket({ WebSocket });
        own.after(() => socket.close());
        const client = createClient(transport === 'fetch' ? { url } : { url, transport: socket });
        let expected = (await client.call(`${place}.runs`)) as number;
        for (const kind of kinds) {
          // Over a WebSocket nothing is collected.
          if (kind === 'collected' && transport === 'webSocket') continue;
          for (const params of thrown) {
            const error = await failureOf(client.call(`${place}.${kind}`, params));
            assert.equal(error.code, params.code);
            const { retry: _, ...rest } = params.data ?? {};
            assert.deepEqual(error.data, params.data && rest);
            assert.equal(await client.call(`${place}.runs`), ++expected, kind);
          }
        }
      });
    }
  }

  it('and so does createCaller, whose errors have no mark either', async () => {
    const api = createCaller(refusing);
    const [, marked] = thrown;
    const before = await api.inline.runs();
    const error = await failureOf(api.inline.later(marked as (typeof thrown)[1]));
    assert.equal((error.data as { retry?: unknown }).retry, undefined);
    assert.equal(await api.inline.runs(), before + 1);
  });
});

async function failureOf(call: PromiseLike<unknown>): Promise<RpcError> {
  try {
    await call;
  } catch (error) {
    return error as RpcError;
  }
  assert.fail('it has not failed');
}

describe('the client sends again what the service refused before it ran', () => {
  it('a request that authenticate refuses with -32000', async (t) => {
    let asked = 0;
    const authenticate = () => {
      if (++asked === 1) throw new ServerError(-32000, 'The directory is down');
    };
    const { url } = await startApp(t, { modules, authenticate });
    assert.equal(typeof (await createClient({ url }).call('inline.runs')), 'number');
    assert.equal(asked, 2);
  });
});
