import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import express from 'express';
import { maxCallsPerConnection } from '../../src/core/base/overloads.ts';
import { Router } from '../../src/index.ts';
import { mountApp } from '../harness.ts';
import { servers } from '../servers.ts';
import { keepSpans } from '../spans.ts';
import { turns } from '../turns.ts';
import { makeCertificate } from './certificate.ts';
import { post, request, rpc } from './raw-client.ts';
import { RawSocket } from './socket/raw-socket.ts';
import { starter } from './stub-server.ts';

const exporter = keepSpans();
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

beforeEach(() => exporter.reset());
after(() => trace.disable());

function shown({ name, attributes, status }: ReadableSpan) {
  const { 'http.response.status_code': code, 'error.type': error } = attributes;
  return { name, code, error, isError: status.code === SpanStatusCode.ERROR };
}

/** What went well, or was the caller's mistake. */
function fine(name: string, code: number) {
  return { name, code, error: undefined, isError: false };
}

function failed(name: string, code: number) {
  return { name, code, error: String(code), isError: true };
}

for (const transport of servers) {
  describe(`the span of an HTTP request on ${transport}`, () => {
    const startOn = starter(transport);
    const start: typeof startOn = async (t, options) => {
      const running = await startOn(t, options);
      running.service.trace();
      return running;
    };

    test('of a WebSocket there is one for the upgrade and one for each message, all in the trace of its client', async (t) => {
      const { client, service } = await start(t);
      const socket = await RawSocket.open(client(), { traceparent });
      await socket.ask(rpc('echo'));
      await socket.send(rpc('later'));
      await service.entered(1);
      socket.destroy();
      while (exporter.getFinishedSpans().length < 3) await turns();
      const spans = exporter.getFinishedSpans();
      const message = { name: 'WebSocket message /rpc', code: undefined };
      assert.deepEqual(spans.map(shown), [
        fine('GET /rpc', 101),
        { ...message, error: undefined, isError: false },
        { ...message, error: 'client_gone', isError: true },
      ]);
      for (const span of spans) assert.equal(span.spanContext().traceId, traceId);
      assert.deepEqual(spans[1]?.attributes, {
        'network.protocol.name': 'websocket',
        'url.path': '/rpc',
        'http.route': '/rpc',
        'client.address': '127.0.0.1',
      });
      service.held[0]?.release();
    });

    test('of a message that the service can not take, or fails under, is an error; of a wrong one it is none', async (t) => {
      const { client, service } = await start(t, { warn: () => {} });
      const socket = await RawSocket.open(client());
      for (const sent of [rpc('throws'), '{', rpc('echo')]) await socket.ask(sent);
      const { bodyMemory } = service;
      assert.ok(bodyMemory.take(bodyMemory.limit));
      await socket.ask(rpc('echo'));
      bodyMemory.give(bodyMemory.limit);
      for (let i = 0; i < maxCallsPerConnection; i++) await socket.send(rpc('later'));
      await service.entered(maxCallsPerConnection);
      await socket.ask(rpc('echo'));
      const message = { name: 'WebSocket message /rpc', code: undefined };
      const good = { ...message, error: undefined, isError: false };
      const bad = (error: string) => ({ ...message, error, isError: true });
      const refused = bad('-32000');
      const expected = [fine('GET /rpc', 101), bad('-32603'), good, good, refused, refused];
      assert.deepEqual(exporter.getFinishedSpans().map(shown), expected);
      for (const { release } of service.held) release();
    });

    test('says what was asked, in whose trace, and how it was answered', async (t) => {
      const { client } = await start(t);
      const bytes = post(rpc('echo'), { traceparent, tracestate: 'congo=1' }, '/rpc?any=1');
      await client().ask(bytes);
      const [span, ...others] = exporter.getFinishedSpans();
      assert.equal(others.length, 0);
      assert.equal(span?.name, 'POST /rpc');
      assert.deepEqual(span.attributes, {
        'http.request.method': 'POST',
        'url.path': '/rpc',
        'url.scheme': 'http',
        'http.route': '/rpc',
        'client.address': '127.0.0.1',
        'http.response.status_code': 200,
      });
      assert.equal(span.spanContext().traceId, traceId);
      assert.equal(span.parentSpanContext?.spanId, 'b7ad6b7169203331');
      assert.equal(span.spanContext().traceState?.serialize(), 'congo=1');
    });

    test('has the real status, of refusals too; only 5xx is an error', async (t) => {
      const warnings: string[] = [];
      const { client, service } = await start(t, {
        maxBodyBytes: 100_000,
        warn: (message) => warnings.push(message),
      });
      const one = client();
      await one.ask(post(rpc('soon')));
      await one.ask(post('{"method":"echo"}'));
      await one.ask(post('{}', { 'content-type': 'text/plain' }));
      await one.ask(post('{}', { 'rpc-timeout-ms': 'soon' }));
      await one.ask(post(rpc('echo', 'x'.repeat(100_000))));
      await one.ask(post(rpc('throws')));
      await one.ask(request('GET', '/rpc'));
      await one.ask(request('GET', '/rpc', ['if-none-match: *']));
      await one.ask(request('OPTIONS', '/rpc'));
      await one.ask(request('DELETE', '/rpc'));
      const { bodyMemory } = service;
      assert.ok(bodyMemory.take(bodyMemory.limit));
      await one.ask(post(rpc('echo')));
      bodyMemory.give(bodyMemory.limit);
      assert.deepEqual(exporter.getFinishedSpans().map(shown), [
        fine('POST /rpc', 200),
        fine('POST /rpc', 204),
        fine('POST /rpc', 415),
        fine('POST /rpc', 400),
        fine('POST /rpc', 413),
        failed('POST /rpc', 500),
        fine('GET /rpc', 200),
        fine('GET /rpc', 304),
        fine('OPTIONS /rpc', 204),
        fine('DELETE /rpc', 405),
        failed('POST /rpc', 503),
      ]);
      assert.equal(warnings.length, 1);
    });

    test('of a method that nobody knows is called HTTP', async (t) => {
      const { client } = await start(t);
      await client().ask(request('PROPFIND', '/rpc'));
      const [span] = exporter.getFinishedSpans();
      assert.equal(span?.name, 'HTTP /rpc');
      assert.equal(span.attributes['http.request.method'], '_OTHER');
      assert.equal(span.attributes['http.request.method_original'], 'PROPFIND');
    });

    test('ends when the client goes before its answer, without a status', async (t) => {
      const { client, service } = await start(t);
      const one = client();
      await one.write(post(rpc('later')));
      await service.entered(1);
      one.destroy();
      while (service.held[0]?.scope.cancelled === false) await turns();
      const gone = { name: 'POST /rpc', code: undefined, error: 'client_gone', isError: true };
      assert.deepEqual(exporter.getFinishedSpans().map(shown), [gone]);
      service.held[0]?.release();
      await turns();
      assert.equal(exporter.getFinishedSpans().length, 1);
    });

    test('is made of requests for the path of calls alone', async (t) => {
      const { client } = await start(t);
      const one = client();
      for (const path of ['/healthz', '/readyz', '/metrics', '/other']) {
        await one.ask(request('GET', path));
      }
      assert.deepEqual(exporter.getFinishedSpans(), []);
    });

    test('says https where the connection is encrypted', async (t) => {
      const certificate = await makeCertificate(t);
      const { client, service } = await starter(transport, certificate)(t);
      service.trace();
      await client().ask(post(rpc('echo')));
      assert.equal(exporter.getFinishedSpans()[0]?.attributes['url.scheme'], 'https');
    });
  });
}

test('of a mount has the path that was asked for, and no route where a router chose it', async (t) => {
  const router = new Router();
  router.rpc({ name: 'echo', placement: 'inline' }, (params) => params);
  const { client } = await mountApp(t, { router, tracing: true }, (app) =>
    express().all('/:tenant/rpc', app.nodeHandler()),
  );
  await client().ask(post(rpc('echo'), {}, '/acme/rpc'));
  const span = exporter.getFinishedSpans().find(({ attributes }) => 'url.path' in attributes);
  assert.equal(span?.name, 'POST');
  assert.equal(span.attributes['url.path'], '/acme/rpc');
  assert.equal(span.attributes['http.route'], undefined);
});
