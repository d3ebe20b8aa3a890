import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type AppOptions, type ConfigOptions, RegistrationError, Router } from '../../src/index.ts';
import { type Served, serve } from '../app/hooks/serve.ts';
import { root } from '../files.ts';
import { mockTimeouts } from '../mock-timeouts.ts';
import { servers } from '../servers.ts';
import { fixture } from '../service/running.ts';
import { deferred, turns, until } from '../turns.ts';
import {
  header,
  json,
  neverHeldLocally,
  post,
  type RawResponse,
  request,
  rpc,
  socketPath,
} from './raw-client.ts';
import { RawSocket } from './socket/raw-socket.ts';

/**
 * docs/protocol.md, "Limits": each limit at its bound and one past it, over both transports. test/router/schema has those of patterns
 * and formats.
 */

type Transport = 'uws' | 'node';
type Given = Omit<AppOptions, 'modules'>;

interface Limit {
  /** What is bounded: an option, or what the protocol fixes. */
  readonly of: keyof ConfigOptions | 'headers' | 'calls of a WebSocket' | 'method' | 'members';
  readonly what: string;
  run(
    start: (options: Given) => Promise<Served>,
    t: TestContext,
    transport: Transport,
  ): Promise<void>;
}

/** Beside those of the group Limits: those that the page keeps with their own kind. */
const elsewhere = ['allowedHosts', 'bodyTimeoutMs', 'maxQueueMs', 'maxRequestMs', 'timeoutMs'];
/** test/faults/admission.long.test.ts and test/service/deadline.test.ts. */
const ofQueueAndTime = ['maxQueue', 'maxQueueMs', 'maxRequestMs', 'timeoutMs'];
/** test/http/event-stream has them, and test/http/socket/subscriptions.test.ts the last. */
const ofStreams = ['maxStreams', 'maxStreamMs', 'maxStreamsPerConnection'];
/** test/app/callers.test.ts has them over every way in, and test/http/behaviour the hosts and the connections. */
const ofCallers = ['rateLimit', 'maxInFlightPerCaller', 'allowedHosts', 'maxConnections'];

const codeOf = (reply: RawResponse) => json(reply).error?.code;
const padded = (bytes: number, ...[method, params = {}]: Parameters<typeof rpc>) =>
  rpc(method, params).padEnd(bytes);
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
/** `text` with as many bytes of result as make the whole reply `bytes` long. */
const replyOf = (bytes: number, id = 1) => {
  const empty = JSON.stringify({ jsonrpc: '2.0', id, result: '' });
  return { length: bytes - empty.length };
};
const tooMuch = (limit: number, reason?: 'params') => ({
  code: -32004,
  message: 'Limit exceeded',
  data: reason === undefined ? { limit } : { limit, reason },
});

function router() {
  const ran: unknown[] = [];
  const made = new Router();
  made.rpc({ name: 'text', placement: 'inline' }, ({ length, isWide }, { id }) => {
    ran.push(id);
    return (isWide === true ? 'é' : 'x').repeat(Number(length ?? 0));
  });
  const waiting: (() => void)[] = [];
  made.rpc({ name: 'wait', placement: 'inline', async: true }, (_params, { id }) => {
    ran.push(id);
    return new Promise<string>((resolve) => waiting.push(() => resolve('waited')));
  });
  return { router: made, ran, waiting };
}

const limits: readonly Limit[] = [
  {
    of: 'maxBodyBytes',
    what: '413 with the limit',
    async run(start) {
      const { client } = await start({ router: router().router, maxBodyBytes: 200 });
      assert.equal((await client().ask(post(padded(200, 'text')))).status, 200);
      const reply = await client().ask(post(padded(201, 'text')));
      assert.equal(reply.status, 413);
      assert.deepEqual(json(reply).error, tooMuch(200));
    },
  },
  {
    of: 'maxBodyMemory',
    what: '503 with retryAfterMs and retry-after before the body is read, closed',
    async run(start) {
      const { router: given, waiting } = router();
      const { app, client } = await start({
        router: given,
        maxBodyBytes: 1000,
        maxBodyMemory: 2000,
      });
      const used = () => app.dispatcher.stats().bodies.inUse;
      // One that waits for its answer, one of which only the head has come.
      const [first, second] = [client(), client()];
      await first.write(post(padded(1000, 'wait')));
      const arriving = post(padded(1000, 'text'));
      const head = arriving.indexOf('\r\n\r\n') + 4;
      await second.write(arriving.subarray(0, head));
      await until(() => waiting.length >= 1 && used() >= 2000);
      const third = client();
      const refused = await third.ask(
        post('', { 'content-length': String(Buffer.byteLength(rpc('text'))) }),
      );
      assert.equal(refused.status, 503);
      const { id, error } = json(refused);
      assert.deepEqual([id, error.code], [null, -32000]);
      const data = {
        reason: 'body-memory',
        limit: 'maxBodyMemory',
        retryAfterMs: 1000,
        retry: true,
      };
      assert.deepEqual(error.data, data);
      assert.equal(header(refused, 'retry-after'), '1');
      await third.untilClosed();
      assert.equal(app.dispatcher.stats().bodies.refused, 1);
      // Each gives back what it had: one that was answered, one that was never whole.
      waiting[0]?.();
      assert.equal((await first.response()).status, 200);
      second.destroy();
      await until(() => used() === 0);
      assert.equal((await client().ask(post(padded(1000, 'text')))).status, 200);
    },
  },
  {
    of: 'maxReplyMemory',
    what: 'the slowest client is cut',
    async run(start) {
      const { app, client } = await start({
        router: router().router,
        socket: socketPath(),
        maxReplyBytes: 2 * neverHeldLocally,
        maxReplyMemory: 2 * neverHeldLocally,
      });
      const replies = () => app.dispatcher.stats().replies;
      const ask = async () => {
        const one = client();
        await one.write(post(rpc('text', { length: neverHeldLocally - 1000 })));
        await once(one.socket, 'data');
        one.socket.pause();
        return one;
      };
      const first = await ask();
      const second = await ask();
      assert.equal(replies().cut, 0);
      assert.ok(replies().waiting > 0 && replies().waiting <= 2 * neverHeldLocally);
      const third = await ask();
      await until(() => replies().cut >= 1);
      assert.equal(replies().cut, 1);
      for (const one of [first, second, third]) one.socket.resume();
      const ended = await Promise.allSettled([first, second, third].map((one) => one.response()));
      assert.equal(ended.filter(({ status }) => status === 'fulfilled').length, 2);
      assert.equal(ended[2]?.status, 'fulfilled');
      await until(() => replies().waiting === 0);
    },
  },
  {
    of: 'maxDepth',
    what: '-32700, inline and in a worker',
    async run(start) {
      const { client } = await start({ maxDepth: 8 });
      for (const place of ['in', 'out']) {
        const body = (depth: number) =>
          `{"id":1,"method":"${place}.thread","params":{"a":${nested(depth - 2)}}}`;
        assert.equal(codeOf(await client().ask(post(body(8)))), undefined);
        assert.equal(codeOf(await client().ask(post(body(9)))), -32700);
        // In a batch its array is a level, too.
        assert.ok(Array.isArray(json(await client().ask(post(`[${body(7)}]`)))));
        assert.equal(codeOf(await client().ask(post(`[${body(8)}]`))), -32700);
      }
    },
  },
  {
    of: 'maxInlineParamsBytes',
    what: '-32004 in place of an inline call, alone and in a batch; a worker takes more',
    async run(start) {
      const { client } = await start({ maxInlineParamsBytes: 100 });
      // Two bytes of UTF-8 for each letter.
      const sized = (place: string, bytes: number, id: number) =>
        rpc(`${place}.length`, { text: `${'é'.repeat(bytes / 2 - 6)}x` }, id);
      const empty = JSON.stringify({ text: 'x' }).length;
      assert.equal(empty, 12);
      const ask = async (body: string) => json(await client().ask(post(body)));
      assert.equal((await ask(sized('in', 100, 1))).error, undefined);
      assert.deepEqual((await ask(sized('in', 102, 1))).error, tooMuch(100, 'params'));
      assert.deepEqual(
        (await ask(sized('in', 102, 1).padEnd(70_000))).error,
        tooMuch(100, 'params'),
      );
      assert.equal((await ask(sized('out', 102, 1))).error, undefined);
      const notified = `{"method":"in.length","params":{"text":"${'x'.repeat(100)}"}}`;
      assert.equal((await client().ask(post(notified))).status, 204);
      for (const pad of [0, 70_000]) {
        const batch = [sized('in', 102, 1), sized('out', 102, 2), sized('in', 100, 3)].join();
        const replies = (await ask(`[${batch}]`.padEnd(pad))) as unknown as Record<
          string,
          unknown
        >[];
        assert.deepEqual(
          replies.map(({ id, error }) => [id, error]),
          [
            [1, tooMuch(100, 'params')],
            [2, undefined],
            [3, undefined],
          ],
        );
      }
      // What is no JSON, or no request, is told first.
      assert.equal((await ask(`${sized('in', 102, 1).slice(0, -1)},}`)).error.code, -32700);
    },
  },
  {
    of: 'maxBatch',
    what: 'one -32004, nothing has run',
    async run(start) {
      const { router: given, ran } = router();
      const { client } = await start({ router: given, maxBatch: 3 });
      const batch = (length: number) =>
        `[${Array.from({ length }, (_, i) => rpc('text', {}, i)).join()}]`;
      const reply = await client().ask(post(batch(3)));
      assert.equal((json(reply) as unknown as unknown[]).length, 3);
      assert.deepEqual(ran, [0, 1, 2]);
      assert.deepEqual(json(await client().ask(post(batch(4)))), {
        jsonrpc: '2.0',
        id: null,
        error: tooMuch(3),
      });
      assert.deepEqual(ran, [0, 1, 2]);
    },
  },
  {
    of: 'batchConcurrency',
    what: 'the next call of the batch begins when one has ended',
    async run(start) {
      const { router: given, ran, waiting } = router();
      const { client } = await start({ router: given, batchConcurrency: 2 });
      const one = client();
      await one.write(post(`[${[1, 2, 3].map((id) => rpc('wait', {}, id)).join()}]`));
      await until(() => ran.length >= 2);
      await turns();
      assert.deepEqual(ran, [1, 2]);
      waiting[1]?.();
      await until(() => ran.length >= 3);
      waiting[0]?.();
      waiting[2]?.();
      const replies = json(await one.response()) as unknown as { id: number }[];
      assert.deepEqual(
        replies.map(({ id }) => id),
        [1, 2, 3],
      );
    },
  },
  {
    of: 'method',
    what: '-32600 with the id, where one of the length is served',
    async run(start) {
      const name = 'm'.repeat(256);
      const given = router().router;
      given.rpc({ name, placement: 'inline' }, () => 'long');
      const { client } = await start({ router: given });
      assert.equal(json(await client().ask(post(rpc(name)))).result, 'long');
      const refused = json(await client().ask(post(rpc(`${name}m`, {}, 5))));
      assert.deepEqual([refused.id, refused.error.code], [5, -32600]);
      assert.throws(
        () => given.rpc({ name: `${name}m`, placement: 'inline' }, () => 'longer'),
        RegistrationError,
      );
    },
  },
  {
    of: 'members',
    what: '-32600 with id null, where their number is served',
    async run(start) {
      const { client } = await start({ router: router().router });
      const members = (count: number, rest = '') =>
        `{"id":1,"method":"text"${',"x":{}'.repeat(count - 2)}${rest}}`;
      const ask = async (body: string) => json(await client().ask(post(body)));
      assert.equal((await ask(members(256))).result, '');
      const refused = await ask(members(257));
      assert.deepEqual([refused.id, refused.error.code], [null, -32600]);
      // What is no JSON behind them is told first.
      assert.equal((await ask(members(257, ',"y"'))).error.code, -32700);
    },
  },
  {
    of: 'maxReplyBytes',
    what: '-32004 in place of a reply, inline and from a worker',
    async run(start) {
      const { client } = await start({ maxReplyBytes: 500 });
      for (const place of ['in', 'out']) {
        const ask = async (bytes: number) => {
          const times = replyOf(bytes).length;
          return client().ask(post(rpc(`${place}.repeat`, { text: 'x', times })));
        };
        assert.equal((await ask(500)).body.length, 500);
        assert.deepEqual(json(await ask(501)).error, tooMuch(500));
      }
    },
  },
  {
    of: 'maxReplyBytes',
    what: 'of a batch: -32004 in place of what breaks it, and the rest does not run',
    async run(start) {
      const { router: given, ran } = router();
      const { client } = await start({ router: given, maxReplyBytes: 500 });
      // The brackets, the comma, and two replies.
      const first = rpc('text', replyOf(240, 1), 1);
      const batch = (second: number) => `[${first},${rpc('text', replyOf(second, 2), 2)}]`;
      const whole = await client().ask(post(batch(257)));
      assert.equal(whole.body.length, 500);
      assert.deepEqual(ran.splice(0), [1, 2]);
      const three = `[${batch(258).slice(1, -1)},${rpc('text', {}, 3)}]`;
      const replies = json(await client().ask(post(three))) as unknown as Record<string, unknown>[];
      assert.deepEqual(
        replies.map(({ error }) => error),
        [undefined, tooMuch(500), tooMuch(500)],
      );
      assert.deepEqual(ran, [1, 2]);
      // Bytes count, not characters: these take two each.
      const wide = rpc('text', { length: replyOf(258, 2).length / 2, isWide: true }, 2);
      const refused = json(await client().ask(post(`[${first},${wide}]`)));
      assert.deepEqual((refused as unknown as Record<string, unknown>[])[1]?.error, tooMuch(500));
    },
  },
  {
    of: 'headers',
    what: '431 above 16 KiB',
    async run(start) {
      const { client } = await start({ router: router().router });
      const sized = (bytes: number) => {
        const bare = post(rpc('text'), { 'x-a': '' });
        const head = bare.indexOf('\r\n\r\n') + 2 - (bare.indexOf('\r\n') + 2);
        return post(rpc('text'), { 'x-a': 'a'.repeat(bytes - head) });
      };
      const one = client();
      assert.equal((await one.ask(sized(16_384))).status, 200);
      assert.equal((await one.ask(sized(16_385))).status, 431);
      assert.equal((await one.ask(sized(16_384))).status, 200);
    },
  },
  {
    of: 'headers',
    what: 'long ones may come in pieces',
    async run(start) {
      const { client } = await start({ router: router().router });
      const one = client();
      const bytes = post(rpc('text'), { 'x-a': 'a'.repeat(15_000) });
      for (let at = 0; at < bytes.length; at += 1400) {
        await one.write(bytes.subarray(at, at + 1400));
        await turns();
      }
      assert.equal((await one.response()).status, 200);
    },
  },
  {
    of: 'headers',
    what: '431 for more than 96',
    async run(start) {
      const { client } = await start({ router: router().router });
      const counted = (count: number) =>
        post(
          rpc('text'),
          Object.fromEntries(Array.from({ length: count - 3 }, (_, i) => [`x-${i}`, 'a'])),
        );
      const one = client();
      assert.equal((await one.ask(counted(96))).status, 200);
      assert.equal((await one.ask(counted(97))).status, 431);
      const lines = Array.from({ length: 96 }, (_, i) => `x-${i}: a`);
      assert.equal((await one.ask(request('GET', '/rpc', lines.slice(1)))).status, 200);
      assert.equal((await one.ask(request('GET', '/rpc', lines))).status, 431);
    },
  },
  {
    of: 'maxInFlight',
    what: '-32000 with its id and retryAfterMs, one object for a batch, nothing runs',
    async run(start) {
      const { router: given, ran, waiting } = router();
      const { app, client } = await start({ router: given, maxInFlight: 2 });
      const [first, second] = [client(), client()];
      await first.write(post(rpc('wait', {}, 'first')));
      await second.write(post(`[${rpc('wait', {}, 'second')}]`));
      await until(() => waiting.length >= 2);
      assert.equal(app.dispatcher.stats().inFlight, 2);
      const data = { reason: 'in-flight', limit: 'maxInFlight', retryAfterMs: 1000, retry: true };
      const error = { code: -32000, message: 'Server overloaded', data };
      const third = client();
      for (const [body, id] of [
        [rpc('text', {}, 'third'), 'third'],
        [`[${rpc('text', {}, 'third')}]`, null],
      ] as const) {
        const reply = await third.ask(post(body));
        assert.equal(reply.status, 200);
        assert.deepEqual(json(reply), { jsonrpc: '2.0', id, error });
      }
      assert.equal((await third.ask(post('{"method":"text"}'))).status, 204);
      assert.equal(codeOf(await third.ask(post('{'))), -32700);
      assert.deepEqual(await app.dispatcher.dispatch({ method: 'text', id: 4 }), {
        jsonrpc: '2.0',
        id: 4,
        error,
      });
      assert.equal(
        await app.dispatcher.dispatchText('{"method":"text","id":4.0}'),
        `{"jsonrpc":"2.0","id":4.0,"error":${JSON.stringify(error)}}`,
      );
      assert.deepEqual(ran, ['first', 'second']);
      waiting[0]?.();
      await first.response();
      assert.equal(json(await third.ask(post(rpc('text', {}, 'third')))).result, '');
      waiting[1]?.();
      await second.response();
    },
  },
  {
    of: 'maxInFlight',
    what: 'what waits for authenticate counts',
    async run(start) {
      const { router: given, ran } = router();
      const verdict = deferred<null>();
      const { app, client } = await start({
        router: given,
        maxInFlight: 1,
        authenticate: ({ headers }) => (headers['x-slow'] === undefined ? null : verdict.promise),
      });
      const one = client();
      await one.write(post(rpc('text', {}, 'slow'), { 'x-slow': '1' }));
      await until(() => app.dispatcher.stats().inFlight >= 1);
      assert.equal(codeOf(await client().ask(post(rpc('text')))), -32000);
      assert.deepEqual(ran, []);
      verdict.resolve(null);
      assert.equal(json(await one.response()).result, '');
      assert.equal(codeOf(await client().ask(post(rpc('text')))), undefined);
    },
  },
  {
    of: 'calls of a WebSocket',
    what: '-32000 with its id and retryAfterMs, other connections go on',
    async run(start) {
      const { router: given, waiting, ran } = router();
      const { client } = await start({ router: given });
      const [one, other] = [await RawSocket.open(client()), await RawSocket.open(client())];
      const ids = Array.from({ length: 1000 }, (_, i) => `${i}`);
      for (const id of ids) await one.send(rpc('wait', {}, id));
      const { id, error } = JSON.parse(await one.ask(rpc('text', {}, 'last')));
      const data = {
        reason: 'connection',
        limit: 'maxCallsPerConnection',
        retryAfterMs: 1000,
        retry: true,
      };
      assert.deepEqual([id, error.code, error.data], ['last', -32000, data]);
      assert.deepEqual(ran, ids);
      assert.equal(JSON.parse(await other.ask(rpc('text'))).result, '');
      waiting[0]?.();
      assert.equal(JSON.parse(await one.receive()).id, '0');
      assert.equal(JSON.parse(await one.ask(rpc('text'))).result, '');
      for (const release of waiting) release();
      for (const id of ids.slice(1)) assert.equal(JSON.parse(await one.receive()).id, id);
    },
  },
  {
    of: 'bodyTimeoutMs',
    what: 'who does not read is cut, with 1 s more for each 64 KiB',
    async run(start, t) {
      const length = neverHeldLocally;
      const allowed = 5000 + (length + 36) / 65.536;
      for (const [ms, isCut] of [
        [Math.floor(allowed) - 1, false],
        [Math.ceil(allowed) + 1, true],
      ] as const) {
        const { app, client } = await start({
          router: router().router,
          socket: socketPath(),
          maxReplyBytes: 2 * length,
          bodyTimeoutMs: 5000,
        });
        mockTimeouts(t);
        const one = client();
        await one.write(post(rpc('text', { length })));
        // With its first bytes here, the reply was written, and the timer of its end set.
        await once(one.socket, 'data');
        one.socket.pause();
        t.mock.timers.tick(ms);
        // From here on no time passes for the server, however long the client takes to read.
        one.socket.resume();
        if (isCut) {
          await one.untilClosed();
          assert.ok(one.received.length < length);
        } else {
          assert.equal(json(await one.response()).result.length, length);
        }
        // Its timer is cleared by then: a mocked one that is cleared later takes another's place.
        while (app.dispatcher.stats().replies.waiting > 0) await turns();
        t.mock.timers.reset();
      }
    },
  },
];

describe('limits', () => {
  test('every one of docs/reference/options.md is tested, with its reason there', () => {
    const page = readFileSync(join(root, 'docs/reference/options.md'), 'utf8');
    const [ofGroup = ''] = page.split('\n**Limits**\n')[1]?.split(/^\*\*/m) ?? [];
    const inGroup = Array.from(ofGroup.matchAll(/^\| `(\w+)` /gm), ([, name = '']) => name);
    assert.ok(inGroup.length > 10);
    const others = [...ofQueueAndTime, ...ofStreams, ...ofCallers];
    const tested = new Set<string>([...limits.map((limit) => limit.of), ...others]);
    for (const name of [...inGroup, ...elsewhere]) {
      assert.ok(tested.has(name), name);
      assert.match(page, new RegExp(`^\\| \`${name}\` .* Why: .{10}`, 'm'));
    }
  });

  for (const transport of servers) {
    for (const limit of limits) {
      test(`${limit.of}, at it and one past it: ${limit.what} (${transport})`, async (t) => {
        const modules = [fixture('procedures.ts')];
        const start = (given: Given) =>
          serve(t, transport, given.router === undefined ? { modules, ...given } : given);
        await limit.run(start, t, transport);
      });
    }
  }
});
