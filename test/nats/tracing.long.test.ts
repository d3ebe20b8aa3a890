import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { Router } from '../../src/index.ts';
import { keepSpans } from '../spans.ts';
import { until } from '../turns.ts';
import { call, gateway, member, serve, untilReady } from './apps.ts';
import { describeNats, NatsServer } from './server.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';

describeNats('spans of calls over NATS', () => {
  let server: NatsServer;
  const exporter = keepSpans();
  before(async () => {
    server = await NatsServer.start();
  });
  after(async () => {
    trace.disable();
    await server.close();
  });

  test('the span of a call at its gateway has the place remote, and that of its member is below it', async (t) => {
    const tracing = true;
    const options = { tracing };
    await member(t, server.url, { options });
    const front = await gateway(t, server.url, { tracing });
    await untilReady(front.url);
    const traceparent = `00-${traceId}-${parentId}-01`;
    const { result } = await call(front.url, 'who', { text: 'a' }, { traceparent });
    assert.equal((result as { text: string }).text, 'a');
    const calls = (): ReadableSpan[] =>
      exporter.getFinishedSpans().filter(({ name }) => name === 'who');
    await until(() => calls().length === 2);
    const at = (place: string) =>
      calls().find(({ attributes }) => attributes['tandem.place'] === place);
    const [remote, inline] = [at('remote'), at('inline')];
    assert.ok(remote !== undefined && inline !== undefined);
    for (const span of [remote, inline]) assert.equal(span.spanContext().traceId, traceId);
    assert.equal(inline.parentSpanContext?.spanId, remote.spanContext().spanId);
    assert.equal(typeof remote.attributes['tandem.run_ms'], 'number');
    const refused = await call(front.url, 'who', { text: 1 }, { traceparent });
    assert.equal(refused.error?.code, -32602);
    await until(() => calls().length === 4);
    const failed = calls().filter(({ attributes }) => attributes['error.type'] === '-32602');
    assert.equal(failed.length, 2);
    assert.deepEqual(
      new Set(failed.map(({ attributes }) => attributes['tandem.place'])),
      new Set(['inline', 'remote']),
    );
  });

  test('a gateway that traces nothing passes the traceparent and tracestate of its caller on to the handler', async (t) => {
    const router = new Router();
    router.rpc({ name: 'told' }, (_params, { traceparent, tracestate }) => ({
      traceparent,
      tracestate,
    }));
    await serve(t, { router, nats: { servers: server.url, role: 'member' } });
    const front = await gateway(t, server.url);
    await untilReady(front.url);
    const sent = { traceparent: `00-${traceId}-${parentId}-01`, tracestate: 'congo=1' };
    assert.deepEqual((await call(front.url, 'told', {}, sent)).result, sent);
    assert.deepEqual((await call(front.url, 'told')).result, {});
    const invalid = { ...sent, traceparent: `00-${traceId}-${'0'.repeat(16)}-01` };
    assert.deepEqual((await call(front.url, 'told', {}, invalid)).result, {});
  });
});
