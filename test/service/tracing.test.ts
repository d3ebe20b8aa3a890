import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { context, createTraceState, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { createClient } from '../../src/client/index.ts';
import { createCaller, procedure, Router, type RpcApp } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { startApp, suiteLifetime } from '../harness.ts';
import { postJson } from '../post-json.ts';

const exporter = new InMemorySpanExporter();
const spanProcessors = [new SimpleSpanProcessor(exporter)];
const modules = [moduleUrl('test/fixtures/observe/traced.ts')];

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${parentId}-01`;

interface Named {
  readonly name: string;
  readonly traceId: string;
  readonly parent?: string;
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await postJson(url, body, headers);
  return (await response.json()) as { readonly id: unknown; readonly result: unknown }[];
}

function idOf(span: ReadableSpan | undefined): string {
  assert.ok(span !== undefined);
  return span.spanContext().spanId;
}

function parentOf(span: ReadableSpan | undefined): string | undefined {
  return span?.parentSpanContext?.spanId;
}

describe('without a tracer provider', () => {
  test('nothing is recorded, calls are answered, and handlers get what the request brought', async (t) => {
    const { url } = await startApp(t, { modules, tracing: true });
    const calls = ['in.work', 'out.work'].map((method) => ({ method, params: {}, id: method }));
    const results = (replies: readonly { readonly result: unknown }[]) =>
      replies.map(({ result }) => result);
    assert.deepEqual(results(await post(url, calls, { traceparent })), [traceparent, traceparent]);
    assert.deepEqual(results(await post(url, calls)), [null, null]);
  });
});

describe('with one', () => {
  const lifetime = suiteLifetime();
  let url = '';
  let app: RpcApp;

  test('each request with calls is a span, each call one below it, and so is what its handler does, on either thread', async () => {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    ({ app, url } = await startApp(lifetime, { modules, tracing: true }));
    const methods = ['in.work', 'out.work', 'in.later', 'out.later'];
    const batch = methods.map((method) => ({
      method,
      params: { name: `inner ${method}` },
      id: method,
    }));
    const replies = await post(url, batch, { traceparent, tracestate: 'congo=1' });
    const [spans] = await post(url, [{ method: 'out.spans', id: 1 }]);
    const inWorker = spans?.result as Named[];

    const ended = exporter
      .getFinishedSpans()
      .filter((span) => span.spanContext().traceId === traceId);
    const named = (name: string) => ended.find((span) => span.name === name);
    const server = named('POST /rpc');
    assert.equal(server?.kind, SpanKind.SERVER);
    assert.equal(parentOf(server), parentId);
    assert.equal(server.spanContext().traceState?.serialize(), 'congo=1');
    assert.equal(server.attributes['http.response.status_code'], 200);
    for (const [i, method] of methods.entries()) {
      const call = named(method);
      assert.equal(parentOf(call), idOf(server), method);
      assert.equal(call?.kind, SpanKind.SERVER);
      const { attributes } = call;
      assert.equal(attributes['rpc.system.name'], 'jsonrpc');
      assert.equal(attributes['rpc.method'], method);
      assert.equal(attributes['jsonrpc.protocol.version'], '2.0');
      assert.equal(attributes['jsonrpc.request.id'], method);
      assert.equal(attributes['error.type'], undefined);
      assert.equal(attributes['tandem.place'], method.startsWith('in.') ? 'inline' : 'worker');
      assert.equal(replies[i]?.result, `00-${traceId}-${idOf(call)}-01`);
      const inner = `inner ${method}`;
      const made = method.startsWith('in.')
        ? { traceId: named(inner)?.spanContext().traceId, parent: parentOf(named(inner)) }
        : inWorker.find(({ name }) => name === inner);
      assert.deepEqual([made?.traceId, made?.parent], [traceId, idOf(call)], inner);
    }
    assert.equal(ended.length, 1 + 4 + 2);
  });

  beforeEach(() => exporter.reset());
  after(() => {
    trace.disable();
    context.disable();
  });

  test('an error is one of its span, and not of the request', async () => {
    await post(
      url,
      ['in.fail', 'out.fail'].map((method) => ({ method, params: {}, id: 1 })),
    );
    const spans = exporter.getFinishedSpans();
    const shown = spans.map(({ name, status, attributes }) => [
      name,
      status.code,
      attributes['rpc.response.status_code'],
      attributes['error.type'],
    ]);
    assert.deepEqual(shown, [
      ['in.fail', SpanStatusCode.ERROR, '7', '7'],
      ['out.fail', SpanStatusCode.ERROR, '7', '7'],
      ['POST /rpc', SpanStatusCode.UNSET, undefined, undefined],
    ]);
    // No traceparent: each request begins a trace.
    assert.equal(parentOf(spans[2]), undefined);
    assert.equal(parentOf(spans[0]), idOf(spans[2]));
  });

  test('what the caller does not sample is not recorded, and told on so', async () => {
    const unsampled = `00-${traceId}-${parentId}-00`;
    const calls = ['in.work', 'out.work'].map((method) => ({ method, params: {}, id: 1 }));
    const replies = await post(url, calls, { traceparent: unsampled });
    for (const { result } of replies) {
      assert.match(String(result), new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    }
    assert.deepEqual(exporter.getFinishedSpans(), []);
  });

  test('a notification ends its span', async () => {
    await postJson(url, { method: 'out.work', params: {} });
    const ended = exporter.getFinishedSpans();
    assert.deepEqual(
      ended.map(({ name }) => name),
      ['out.work', 'POST /rpc'],
    );
    assert.equal(ended[1]?.attributes['http.response.status_code'], 204);
    assert.equal(Object.hasOwn(ended[0]?.attributes ?? {}, 'jsonrpc.request.id'), false);
  });

  test('an id is told as text: a number as it was written, a string without quotes, null not at all', async () => {
    const ids = ['7', '-0.0', '"a\\u0062"', '""', 'null'];
    const calls = ids.map((id) => `{"method":"in.fail","id":${id}}`);
    await app.dispatcher.dispatchText(`[${calls.join(',')}]`);
    const told = exporter.getFinishedSpans().map((span) => span.attributes['jsonrpc.request.id']);
    assert.deepEqual(told, ['7', '-0.0', 'ab', '', undefined]);
  });

  test('calls through the dispatcher are below the span that is current, or the one they name', async () => {
    const tracer = trace.getTracer('test');
    const body = '{"method":"out.work","params":{},"id":1}';
    const current = tracer.startSpan('current');
    await context.with(trace.setSpan(context.active(), current), () =>
      app.dispatcher.dispatchText(body),
    );
    await app.dispatcher.dispatchText(body, { traceparent });
    const parents = exporter.getFinishedSpans().map(parentOf);
    assert.deepEqual(parents, [current.spanContext().spanId, parentId]);
    const [span] = exporter.getFinishedSpans();
    assert.match(span?.instrumentationScope.schemaUrl ?? '', /\/schemas\/1\.44\.0$/);
  });

  test('calls of a client are below the span that its traceparent names', async () => {
    const client = createClient({ url, traceparent: () => traceparent });
    const told = await client.call('out.work', {});
    assert.match(String(told), new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    const request = exporter.getFinishedSpans().find(({ name }) => name === 'POST /rpc');
    assert.equal(parentOf(request), parentId);
  });

  test('handlers that createCaller calls are told the current span, of calls, batches and streams', async () => {
    const router = Router.from({
      told: procedure({}, (_params, { traceparent: at, tracestate }) => ({ at, tracestate })),
      ticks: procedure({}, async function* (_params, { traceparent: at, tracestate }) {
        yield { at, tracestate };
      }),
    });
    const api = createCaller(router);
    const remote = {
      traceId,
      spanId: parentId,
      traceFlags: 1,
      traceState: createTraceState('congo=1'),
    };
    const expected = { at: traceparent, tracestate: 'congo=1' };
    await context.with(trace.setSpanContext(context.active(), remote), async () => {
      assert.deepEqual(await api.told(), expected);
      assert.deepEqual(await api.told(), expected);
      assert.deepEqual(await api.batch([['told']]), [{ ok: true, result: expected }]);
      for await (const value of api.ticks()) assert.deepEqual(value, expected);
    });
    assert.deepEqual(await api.told(), {});
    const broken = { ...remote, traceId: '0'.repeat(32) };
    await context.with(trace.setSpanContext(context.active(), broken), async () =>
      assert.deepEqual(await api.told(), {}),
    );
  });
});

describe('turned off', () => {
  test('no span is made', async (t) => {
    const provider = new BasicTracerProvider({ spanProcessors });
    trace.setGlobalTracerProvider(provider);
    t.after(() => trace.disable());
    exporter.reset();
    const { url } = await startApp(t, { modules });
    await post(url, [{ method: 'in.fail', id: 1 }], { traceparent });
    assert.deepEqual(exporter.getFinishedSpans(), []);
  });
});
