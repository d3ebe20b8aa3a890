import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EventSource } from 'eventsource';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { isIncluded } from '../../servers.ts';
import { ownServers, rpc, Stage } from './stage.ts';

const post = (body: string) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
  body,
});

for (const way of ownServers.filter(isIncluded)) {
  describe(`clients of event streams that others wrote: ${way.name}`, () => {
    const withStage = (run: (stage: Stage, url: string) => Promise<void>) => async () => {
      const stage = await Stage.open(way);
      try {
        await run(stage, `http://127.0.0.1:${stage.port}/rpc`);
      } finally {
        await stage.close();
      }
    };

    test(
      'fetch and eventsource-parser',
      withStage(async (_stage, url) => {
        const response = await fetch(url, post(rpc('count', { to: 500 })));
        const values: unknown[] = [];
        const events = response.body
          ?.pipeThrough(new TextDecoderStream())
          .pipeThrough(new EventSourceParserStream());
        assert.ok(events !== undefined);
        for await (const { data, event, id } of events) {
          assert.deepEqual([event, id], [undefined, undefined]);
          const { params, result } = JSON.parse(data);
          values.push(params?.result ?? result);
        }
        assert.deepEqual(values, [...Array.from({ length: 500 }, (_, i) => i), 'all']);
      }),
    );

    test(
      'eventsource, with a fetch that posts',
      withStage(async (stage, url) => {
        const source = new EventSource(url, {
          fetch: (target, init) =>
            fetch(target, {
              ...post(rpc('count', { to: 3 })),
              signal: init.signal as AbortSignal,
              headers: { ...init.headers, 'content-type': 'application/json' },
            }),
        });
        const data = await new Promise<string[]>((resolve) => {
          const all: string[] = [];
          source.onmessage = (event) => {
            all.push(event.data as string);
            // The last event says that it is the last: an EventSource would ask again.
            if ('id' in JSON.parse(event.data as string)) {
              source.close();
              resolve(all);
            }
          };
        });
        assert.equal(data.length, 4);
        assert.equal(JSON.parse(data[3] ?? '').result, 'all');
        assert.equal(stage.given, 3);
      }),
    );
  });
}
