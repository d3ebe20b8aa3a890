import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import type { AppOptions } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { type Lifetime, startApp } from '../harness.ts';
import { setNodeEnv } from '../node-env.ts';
import { postJson } from '../post-json.ts';
import { servers } from '../servers.ts';

/** Who sees the message of an internal error: a developer who calls from the same machine, and nobody else. */

async function start(t: Lifetime, options: AppOptions, environment?: string): Promise<string> {
  setNodeEnv(t, environment);
  const modules = [moduleUrl('test/fixtures/app/failing.ts')];
  return (await startApp(t, { modules, ...options })).url;
}

async function ask(url: string, body: unknown, headers: Record<string, string> = {}) {
  return (await postJson(url, body, headers)).text();
}

const call = (method: string, id = 1) => ({ jsonrpc: '2.0', method, id });

/** What the errors in a text show beside their ref, in their order. */
function shown(text: string): unknown[] {
  const errors = text.match(/\{"ref":"[\w-]{13}"(?:,"message":"[^"]*")?\}/g) ?? [];
  return errors.map((one) => /"message":"([^"]*)"/.exec(one)?.[1]);
}

function overSocket(url: string, method: string): Promise<string> {
  const socket = new WebSocket(url.replace('http', 'ws'));
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => socket.send(JSON.stringify(call(method))));
    let all = '';
    socket.on('message', (data: Buffer) => {
      all += data.toString();
      if (!all.includes('"error"')) return;
      resolve(all);
      socket.close();
    });
  });
}

for (const transport of servers) {
  describe(`the message of an internal error on ${transport}`, () => {
    test('NODE_ENV development: is in error.data over HTTP, sockets, streams and MCP, in both places', async (t) => {
      const url = await start(t, { transport, mcp: true }, 'development');
      for (const place of ['inline', 'worker']) {
        const broken = [`broken ${place}`];
        assert.deepEqual(shown(await ask(url, call(`${place}.fail`))), broken);
        assert.deepEqual(shown(await ask(url, call(`${place}.failLater`))), broken);
        const [bigint] = shown(await ask(url, call(`${place}.bigint`)));
        assert.match(String(bigint), /BigInt/);
        assert.deepEqual(shown(await overSocket(url, `${place}.fail`)), broken);
        assert.deepEqual(shown(await overSocket(url, `${place}.stream`)), broken);
        const accept = 'text/event-stream';
        assert.deepEqual(shown(await ask(url, call(`${place}.stream`), { accept })), broken);
        const tool = await ask(
          new URL('/mcp', url).href,
          { ...call('tools/call'), params: { name: `${place}_fail`, arguments: {} } },
          { accept: 'application/json, text/event-stream' },
        );
        assert.deepEqual(shown(tool.replaceAll('\\"', '"')), broken);
      }
      const batch = [call('worker.fail', 1), call('inline.fail', 2)];
      assert.deepEqual(shown(await ask(url, batch)), ['broken worker', 'broken inline']);
    });

    test('of the hook authenticate is shown, too', async (t) => {
      const authenticate = ({ headers }: { headers: { later?: string } }): unknown => {
        if (headers.later === undefined) throw new Error('no session');
        return Promise.reject(new Error('no session later'));
      };
      const url = await start(t, { transport, authenticate }, 'development');
      assert.deepEqual(shown(await ask(url, call('inline.fail'))), ['no session']);
      const later = await ask(url, call('inline.fail'), { later: '1' });
      assert.deepEqual(shown(later), ['no session later']);
    });

    test('the header of a proxy hides it, whichever', async (t) => {
      const url = await start(t, { transport }, 'development');
      for (const name of [
        'Forwarded',
        'X-Forwarded-For',
        'x-forwarded-host',
        'X-FORWARDED-PROTO',
      ]) {
        for (const method of ['inline.fail', 'worker.fail']) {
          const text = await ask(url, call(method), { [name]: 'for=127.0.0.1' });
          assert.deepEqual(shown(text), [undefined], `${name} ${method}`);
        }
      }
    });
  });
}

describe('the message of an internal error', () => {
  test('is shown on the loopback address of IPv6, and with the option watch', async (t) => {
    const url = await start(t, { host: '::1', watch: true });
    assert.deepEqual(shown(await ask(url, call('worker.fail'))), ['broken worker']);
  });

  for (const [title, options, environment] of [
    ['an unset NODE_ENV', {}, undefined],
    ['NODE_ENV test', {}, 'test'],
    ['NODE_ENV production, with watch', { watch: true }, 'production'],
    ['trustedProxies', { trustedProxies: ['10.0.0.1'], watch: true }, 'development'],
  ] as const) {
    test(`is hidden with ${title}`, async (t) => {
      const url = await start(t, options, environment);
      for (const method of ['inline.fail', 'worker.fail']) {
        assert.deepEqual(shown(await ask(url, call(method))), [undefined]);
      }
    });
  }

  test('onCall has the ref of an error whose message is shown', async (t) => {
    const refs: (string | undefined)[] = [];
    const url = await start(t, { onCall: ({ ref }) => void refs.push(ref) }, 'development');
    const text = await ask(url, call('worker.fail'));
    assert.ok(refs[0] !== undefined && text.includes(refs[0]));
  });
});
