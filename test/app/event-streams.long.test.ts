import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { type AppOptions, Router } from '../../src/index.ts';
import { inReverse, type Lifetime, startApp } from '../harness.ts';
import { EventClient } from '../http/event-stream/event-client.ts';
import { rpc } from '../http/raw-client.ts';
import { keepSpans } from '../spans.ts';
import { until } from '../turns.ts';

/** An app whose procedures stream from a worker, until a test or a suite ends. */
async function start(t: Lifetime, options: AppOptions) {
  const own = inReverse(t);
  const { app, lines, port } = await startApp(own, options);
  const client = (): EventClient => {
    const made = new EventClient(port);
    own.after(() => made.destroy());
    return made;
  };
  return { app, lines, client };
}

describe('what a service tells of event streams', () => {
  const exporter = keepSpans();
  const router = new Router();
  let open = 0;
  router.rpc({ name: 'three' }, function* three() {
    open++;
    yield* [1, 2];
    yield trace.getActiveSpan()?.spanContext().spanId;
    return 'all';
  });
  router.rpc({ name: 'waits' }, async function* waits(_params, { signal }) {
    yield 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  router.rpc({ name: 'fails' }, function* fails() {
    yield 1;
    throw new Error('it fails');
  });
  beforeEach(() => exporter.reset());
  after(() => {
    trace.disable();
    context.disable();
  });

  test('figures, a line each, and spans that end with the stream', async (t) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const { client, app, lines } = await start(t, { router, tracing: true, accessLog: true });
    const [one, waiting] = [client(), client()];
    waiting.send(rpc('waits', undefined, 'w'));
    await waiting.event();
    assert.deepEqual(exporter.getFinishedSpans(), []);
    one.send(rpc('three'));
    const events = await one.events();
    one.send(rpc('fails'));
    await one.events();
    assert.equal(open, 1);

    const spans = exporter.getFinishedSpans();
    assert.deepEqual(
      spans.map(({ name }) => name),
      ['three', 'POST /rpc', 'fails', 'POST /rpc'],
    );
    const [call, request, failed] = spans;
    assert.equal(call?.attributes['tandem.stream_values'], 3);
    assert.equal(call.attributes['tandem.place'], 'inline');
    assert.equal(events[2]?.params?.result, call.spanContext().spanId);
    assert.equal(request?.attributes['http.response.status_code'], 200);
    assert.equal(call.parentSpanContext?.spanId, request.spanContext().spanId);
    assert.equal(failed?.attributes['rpc.response.status_code'], '-32603');

    const told = lines.filter(({ fields }) => fields.event === 'stream');
    assert.deepEqual(
      told.map(({ fields }) => [fields.method, fields.id, fields.code, fields.values]),
      [
        ['three', 1, 0, 3],
        ['fails', 1, -32603, 1],
      ],
    );
    assert.equal(told[0]?.fields.remoteAddress, '127.0.0.1');

    const { metrics } = app.dispatcher;
    assert.ok(metrics !== undefined);
    const figures = () => {
      const { gauges, counters } = metrics.snapshot();
      const { streams, failedStreams, streamValues } = counters;
      return [gauges?.openStreams, streams, failedStreams, streamValues];
    };
    assert.deepEqual(figures(), [1, 2, 1, 5]);
    waiting.destroy();
    await until(() => figures()[0] === 0);
    assert.deepEqual(figures(), [0, 3, 1, 5]);
  });
});
