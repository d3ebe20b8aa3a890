/** The span of a request to a URL is named by the procedure, and by no name that a caller makes up. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { trace } from '@opentelemetry/api';
import router from '../fixtures/openapi/service.ts';
import { keepSpans } from '../spans.ts';
import { until } from '../turns.ts';
import { jsonOf, ownServers } from './site.ts';

const exporter = keepSpans();
const traceId = '0af7651916cd43dd8448eb211c80319c';

after(() => trace.disable());

for (const way of ownServers) {
  test(`of a URL: its route, its status, its caller's trace: ${way.name}`, async (t) => {
    exporter.reset();
    const site = await way.open(t, { router, tracing: true });
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    assert.equal(jsonOf(await site.get('math.add?a=1', { traceparent })), 2);
    await site.get('nothing/here', { traceparent });
    const requests = () =>
      exporter
        .getFinishedSpans()
        .filter(({ attributes }) => 'http.request.method' in attributes)
        .map(({ name, attributes }) => [name, attributes['http.response.status_code']]);
    await until(() => requests().length >= 2);
    assert.deepEqual(requests(), [
      ['GET /api/math.add', 200],
      ['GET', 404],
    ]);
    const calls = exporter.getFinishedSpans().map((span) => span.spanContext().traceId);
    assert.deepEqual([...new Set(calls)], [traceId]);
    assert.ok(calls.length >= 3, 'the call has a span of its own');
  });
}
