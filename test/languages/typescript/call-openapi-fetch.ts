/** The types of openapi-typescript, with openapi-fetch. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-fetch/schema.ts';
import { createApp, values } from './service.ts';

type Problem = components['schemas']['Problem'];

describe('openapi-typescript and openapi-fetch', () => {
  const app = createApp();
  let baseUrl = '';
  let client: ReturnType<typeof createClient<paths>>;

  before(async () => {
    baseUrl = `http://127.0.0.1:${(await app.listen()).port}`;
    client = createClient<paths>({ baseUrl });
  });
  after(() => app.close());

  test('send params in a query, arrays too', async () => {
    const query = { text: 'a', size: 3, tags: ['b,c', 'd'] };
    const { data, error } = await client.GET('/api/query.flat', { params: { query } });
    assert.equal(error, undefined);
    assert.deepEqual(data satisfies string[] | undefined, ['a', 'b,c', 'd']);
  });

  test('give a declared error by its status and name', async () => {
    const { error, response } = await client.POST('/api/save', { body: { name: 'taken' } });
    assert.equal(response.status, 409);
    // The type of an error is that of any status: `name` tells those of 409 apart.
    const taken = error as components['schemas']['Taken'];
    assert.equal(taken.name satisfies 'Taken', 'Taken');
    assert.equal(taken.data.by, 'ann');
    const saved = await client.POST('/api/save', { body: { name: 'ann' } });
    assert.deepEqual([saved.response.status, saved.error], [204, undefined]);
  });

  test('give any other error as a problem', async () => {
    const { error } = await client.POST('/api/save', { body: { name: 5 as never } });
    const { code, status }: Problem = error as Problem;
    assert.deepEqual([code, status], [-32602, 400]);
  });

  test('send bytes and read bytes', async () => {
    const put = await client.POST('/api/bytes.put', {
      params: { query: { id: 7 } },
      // Its type is that of OpenAPI: a string.
      body: new Uint8Array([1, 2]) as unknown as string,
      bodySerializer: (body) => body,
      headers: { 'content-type': 'application/octet-stream' },
    });
    assert.equal(put.data, 9);
    const params = { query: { id: 7 } };
    const png = await client.GET('/api/bytes.png', { params, parseAs: 'arrayBuffer' });
    assert.equal(png.response.headers.get('content-type'), 'image/png');
    assert.deepEqual(png.data && new Uint8Array(png.data), new Uint8Array([7]));
  });

  test('give a stream of events as its text, which eventsource-parser reads', async () => {
    const params = { query: { n: 2 } };
    const { data } = await client.GET('/api/stream.ticks', { params, parseAs: 'stream' });
    assert.ok(data);
    const events: unknown[] = [];
    const texts = data.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>;
    for await (const event of texts.pipeThrough(new EventSourceParserStream())) {
      events.push([event.event, JSON.parse(event.data)]);
    }
    assert.deepEqual(events, [
      [undefined, { kind: 'cat', lives: 0 }],
      [undefined, { kind: 'cat', lives: 1 }],
      ['result', 'end'],
    ]);
  });

  test('carry the values of every shape', async () => {
    for (const [shape, all] of Object.entries(values)) {
      const path = `/api/shapes.${shape}` as '/api/shapes.anything';
      for (const value of all) {
        assert.deepEqual((await client.POST(path, { body: { value } })).data, value, shape);
      }
    }
  });

  test('type unions by their tag, and members that may be null', async () => {
    const pets = await client.POST('/api/shapes.pets', {
      body: { value: { kind: 'cat', lives: 7 } },
    });
    const pet = pets.data;
    assert.ok(pet);
    assert.equal(pet.kind === 'cat' ? pet.lives : pet.good, 7);
    // Its types have the tuple, which openapi-fetch 0.17 makes an array.
    const tuple = await client.POST('/api/shapes.tuple', { body: { value: [1, 'a'] } });
    assert.equal(tuple.data?.[1] satisfies string | number | undefined, 'a');
    const none = await client.POST('/api/shapes.nullable', { body: { value: null } });
    assert.equal(none.data satisfies string | null | undefined, null);
  });
});
