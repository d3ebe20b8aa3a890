/** Handler batches of calls that come by every way into a service. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApp } from '../harness.ts';
import { headersOf, modern } from '../mcp/stage.ts';
import { keepSpans } from '../spans.ts';
import { until } from '../turns.ts';
import { Journal } from './journal.ts';
import { fixture } from './running.ts';

const traceOf = (digit: number): string => String(digit).repeat(32);

test('calls by JSON-RPC, plain HTTP and MCP gather in one run; each has its own trace and span, and there is none around the run', async (t) => {
  const exporter = keepSpans();
  const modules = [fixture('procedures.ts'), fixture('batches.ts')];
  const options = { mcp: true, httpPath: '/api', tracing: true } as const;
  const { app, url } = await startApp(t, { modules, ...options });
  const journal = new Journal();
  t.after(() => journal.remove());
  const params = { file: journal.file, text: 'x' };
  const held = app.dispatcher.dispatch({ method: 'hold', params, id: 'held' });
  await until(() => journal.lines().length > 0);

  const post = (path: string, body: string, trace: number, headers: Record<string, string> = {}) =>
    fetch(new URL(path, url), {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        traceparent: `00-${traceOf(trace)}-b7ad6b7169203331-01`,
        ...headers,
      },
    }).then((response) => response.text());
  const tool = modern('tools/call', { name: 'traced', arguments: params });
  const rpc = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'traced', params });
  const answers = Promise.all([
    post('/rpc', rpc, 1),
    post('/api/traced', JSON.stringify(params), 2),
    post('/mcp', tool, 3, headersOf(tool) as Record<string, string>),
  ]);
  await until(() => app.dispatcher.stats().pool?.queued === 3);
  journal.release();
  await held;
  for (const [i, answer] of (await answers).entries()) {
    assert.ok(answer.includes(`3 ${traceOf(i + 1)}`), answer);
  }
  const spans = exporter.getFinishedSpans().filter(({ name }) => name.endsWith('traced'));
  const traces = spans
    .filter(({ name }) => name === 'traced')
    .map((span) => span.spanContext().traceId);
  assert.deepEqual(traces.toSorted(), [1, 2, 3].map(traceOf));
  assert.equal(app.placementOf('traced'), 'worker');
});
