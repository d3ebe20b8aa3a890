import assert from 'node:assert/strict';
import { EventSource } from 'eventsource';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { EventCase } from '../case.ts';
import { accepting } from '../event-client.ts';
import { rpc } from '../stage.ts';

const headers = { 'content-type': 'application/json', ...accepting };

/** Clients of event streams that others wrote. */
export const clients: readonly EventCase[] = [
  {
    name: 'fetch and eventsource-parser',
    async run({ port }) {
      const body = rpc('count', { to: 500 });
      const response = await fetch(`http://127.0.0.1:${port}/rpc`, {
        method: 'POST',
        headers,
        body,
      });
      const events = response.body
        ?.pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream());
      assert.ok(events !== undefined);
      const values: unknown[] = [];
      for await (const { data, event, id } of events) {
        assert.deepEqual([event, id], [undefined, undefined]);
        const { params, result } = JSON.parse(data);
        values.push(params?.result ?? result);
      }
      assert.deepEqual(values, [...Array.from({ length: 500 }, (_, i) => i), 'all']);
    },
  },
  {
    name: 'eventsource, with a fetch that posts',
    async run(stage) {
      const source = new EventSource(`http://127.0.0.1:${stage.port}/rpc`, {
        fetch: (target, { headers: own, signal }) =>
          fetch(target, {
            method: 'POST',
            headers: { ...headers, ...own },
            body: rpc('count', { to: 3 }),
            signal: signal as AbortSignal,
          }),
      });
      const data: string[] = [];
      await new Promise<void>((resolve) => {
        source.onmessage = (event) => {
          data.push(event.data as string);
          // The last event says that it is the last: an EventSource would ask again.
          if (!('id' in JSON.parse(event.data as string))) return;
          source.close();
          resolve();
        };
      });
      assert.equal(data.length, 4);
      assert.equal(JSON.parse(data[3] ?? '').result, 'all');
      assert.equal(stage.given, 3);
    },
  },
];
