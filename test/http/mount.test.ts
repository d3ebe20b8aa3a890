import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import express, { type Express, type RequestHandler } from 'express';
import fastify, { type FastifyInstance } from 'fastify';
import type { HttpOptions } from '../../src/server/http/edge/http-options.ts';
import { createNodeHandler } from '../../src/server/http/node/handler.ts';
import { fastifyClient, listenerClient } from '../harness.ts';
import { header, json, post, request, rpc } from './raw-client.ts';
import { defaults, StubService } from './stub-server.ts';

type NodeHandler = ReturnType<typeof createNodeHandler>;

function handler(options: Partial<HttpOptions> = {}) {
  const service = new StubService();
  return { service, handle: createNodeHandler(service, { ...defaults, ...options }) };
}

/** A client of a server of Express. @param build mounts the handler */
async function inExpress(
  t: TestContext,
  build: (app: Express, handle: NodeHandler) => unknown,
  options: Partial<HttpOptions> = {},
) {
  const { service, handle } = handler(options);
  const app = express();
  build(app, handle);
  return { service, client: await listenerClient(t, app) };
}

/** A client of a server of Express that serves calls behind a parser. */
function behind(t: TestContext, parser: RequestHandler, options: Partial<HttpOptions> = {}) {
  return inExpress(t, (app, handle) => app.use(parser).use('/rpc', handle), options);
}

/** A client of a server of Fastify. @param build mounts the handler */
async function inFastify(
  t: TestContext,
  build: (app: FastifyInstance, handle: NodeHandler) => unknown,
) {
  const { service, handle } = handler();
  const app = fastify();
  build(app, handle);
  return { service, client: await fastifyClient(t, app) };
}

const cycle: unknown[] = [];
cycle.push(cycle);

const large = 'é'.repeat(500_000);

describe('mounted in node:http', () => {
  test('beside pages of the application', async (t) => {
    const { handle } = handler();
    const client = await listenerClient(t, (req, res) => {
      if (req.url === '/') res.end('home');
      else handle(req, res);
    });
    assert.equal((await client.ask(request('GET', '/'))).status, 200);
    assert.equal(json(await client.ask(post(rpc('echo', 'x')))).result, 'x');
    assert.equal((await client.ask(request('GET', '/rpc'))).status, 200);
    assert.equal((await client.ask(request('GET', '/readyz'))).status, 200);
    assert.equal((await client.ask(post(rpc('echo'), {}, '/other'))).status, 404);
    assert.equal((await client.ask(post('{}', { 'content-type': 'text/plain' }))).status, 415);
  });
});

describe('mounted in Express', () => {
  for (const [how, path] of [
    ['use', '/rpc'],
    ['use', '/api/v1'],
    ['all', '/rpc'],
    ['all', '/api/v1'],
  ] as const) {
    test(`app.${how}('${path}', handler)`, async (t) => {
      const { client, service } = await inExpress(t, (app, handle) => app[how](path, handle));
      assert.equal(json(await client.ask(post(rpc('echo', large), {}, path))).result, large);
      assert.equal(service.bodies[0]?.shared, true);
      assert.equal((await client.ask(request('GET', `${path}?any=x`))).status, 200);
      assert.equal((await client.ask(request('HEAD', path), true)).status, 200);
      assert.equal((await client.ask(request('OPTIONS', path))).status, 204);
      assert.equal((await client.ask(request('GET', '/elsewhere'))).status, 404);
      // Closes, so it comes last.
      assert.equal((await client.ask(post('', { 'content-length': undefined }, path))).status, 411);
    });
  }

  test('under a prefix it still serves its own path, and nothing else', async (t) => {
    const { client } = await inExpress(t, (app, handle) => app.use('/api', handle));
    assert.equal((await client.ask(post(rpc('echo'), {}, '/api/rpc'))).status, 200);
    assert.equal((await client.ask(post(rpc('echo'), {}, '/api/other'))).status, 404);
  });

  test('headers of a middleware before it do not stand beside its own', async (t) => {
    const before: RequestHandler = (_req, res, next) => {
      res.setHeader('access-control-allow-origin', 'https://b.example');
      res.setHeader('x-kept', '1');
      next();
    };
    const { client } = await behind(t, before, { corsOrigin: ['https://a.example'] });
    const reply = await client.ask(post(rpc('echo'), { origin: 'https://a.example' }));
    const lines = reply.headers.filter(([name]) => name === 'access-control-allow-origin');
    assert.deepEqual(lines, [['access-control-allow-origin', 'https://a.example']]);
    assert.equal(header(reply, 'x-kept'), '1');
  });

  for (const [name, parser, kind] of [
    ['raw', express.raw({ type: '*/*', limit: '10mb' }), 'bytes'],
    ['text', express.text({ type: '*/*', limit: '10mb' }), 'string'],
  ] as const) {
    test(`behind express.${name}()`, async (t) => {
      const { client, service } = await behind(t, parser);
      assert.equal(json(await client.ask(post(rpc('echo', 'é')))).result, 'é');
      assert.equal(json(await client.ask(post(rpc('echo', large)))).result, large);
      assert.equal(service.bodies[0]?.kind, kind);
      if (kind === 'bytes') assert.equal(service.bodies[1]?.shared, true);
      assert.equal((await client.ask(post(''))).status, 200);
    });
  }

  test('behind express.json(): its value is the body', async (t) => {
    const { client, service } = await behind(t, express.json({ limit: '10mb' }));
    assert.equal(json(await client.ask(post(rpc('echo', 'é')))).result, 'é');
    assert.equal(service.lastBody, rpc('echo', 'é'));
    assert.equal(json(await client.ask(post(rpc('echo', large)))).result, large);
    assert.deepEqual(service.bodies[1], {
      kind: 'bytes',
      bytes: Buffer.byteLength(rpc('echo', large)),
      shared: true,
    });
    await client.ask(post(`[${rpc('echo')},{"__proto__":{"a":"\\ud800"}}]`));
    assert.equal(service.lastBody, `[${rpc('echo')},{"__proto__":{"a":"\\ud800"}}]`);
    // The parser leaves this type alone.
    const other = { 'content-type': 'application/json-rpc' };
    assert.equal((await client.ask(post(rpc('echo'), other))).status, 200);
    assert.equal(service.bodyMemory.stats().inUse, 0);
  });

  test('behind express.json(): the limits hold', async (t) => {
    const { client, service } = await behind(t, express.json(), { maxBodyBytes: 100 });
    assert.equal((await client.ask(post(rpc('echo', 'x'.repeat(100))))).status, 413);
    // 9 bytes of a number become 21: the text that is read is held to the limit too.
    const numbers = (count: number) =>
      `{"id":1,"method":"echo","params":[${Array<string>(count).fill('1.5e20').join()}]}`;
    const written = await client.ask(post(numbers(8)));
    assert.equal(written.status, 413);
    assert.deepEqual(json(written).error.data, { limit: 100 });
    assert.equal((await client.ask(post(numbers(2)))).status, 200);
    assert.equal(service.bodies.length, 1);
  });

  for (const [what, left] of [
    ['nothing', undefined],
    ['a Map', new Map()],
    ['a BigInt', { id: 1n }],
    ['a cycle', cycle],
    ['a function', () => {}],
  ] as const) {
    test(`a parser that left ${what}: 500 that says what to do`, async (t) => {
      const { client, service } = await inExpress(t, (app, handle) => {
        app.use(express.raw({ type: '*/*' }), (request, _response, next) => {
          request.body = left;
          next();
        });
        app.use('/rpc', handle);
      });
      const reply = await client.ask(post(rpc('echo')));
      assert.equal(reply.status, 500);
      assert.equal(json(reply).error.code, -32603);
      assert.match(reply.body.toString(), /mount the handler before that parser/);
      assert.equal(service.bodies.length, 0);
    });
  }
});

describe('mounted in Fastify', () => {
  for (const path of ['/rpc', '/api/v1']) {
    test(`app.all('${path}', handler), bodies left alone`, async (t) => {
      const { client, service } = await inFastify(t, (app, handle) => {
        app.removeAllContentTypeParsers();
        app.addContentTypeParser('*', (_request, _payload, done) => done(null));
        app.all(path, handle);
      });
      assert.equal(json(await client.ask(post(rpc('echo', large), {}, path))).result, large);
      assert.equal(service.bodies[0]?.shared, true);
      assert.equal((await client.ask(request('GET', path))).status, 200);
      assert.equal((await client.ask(request('OPTIONS', path))).status, 204);
      assert.equal(
        (await client.ask(post('{}', { 'content-type': 'text/plain' }, path))).status,
        415,
      );
      assert.equal((await client.ask(post('{"method":"echo"}', {}, path))).status, 204);
    });
  }

  test('with a parser that leaves a Buffer', async (t) => {
    const { client, service } = await inFastify(t, (app, handle) => {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
        done(null, body),
      );
      app.all('/rpc', handle);
    });
    assert.equal(json(await client.ask(post(rpc('echo', 'é')))).result, 'é');
    assert.equal(service.bodies[0]?.kind, 'bytes');
  });

  test('with its own JSON parser: its value is the body', async (t) => {
    const { client, service } = await inFastify(t, (app, handle) => app.all('/rpc', handle));
    assert.equal(json(await client.ask(post(rpc('echo', 'é')))).result, 'é');
    assert.equal((await client.ask(request('GET', '/rpc'))).status, 200);
    // Numbers and strings are bodies for that parser too. A string is taken as the text of the body.
    await client.ask(post('7'));
    assert.equal(service.lastBody, '7');
    await client.ask(post('"text"'));
    assert.equal(service.lastBody, 'text');
  });

  test('by the raw pair, hijacked by the application', async (t) => {
    const { client } = await inFastify(t, (app, handle) =>
      app.get('/rpc', (request, reply) => {
        reply.hijack();
        handle(request.raw, reply.raw);
      }),
    );
    assert.equal((await client.ask(request('GET', '/rpc'))).status, 200);
  });
});
