import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockMs } from '../../src/base/clock.ts';
import { procedure, Router } from '../../src/index.ts';
import { DocumentFetch } from '../../src/nats/gateway/document-fetch.ts';
import { describeProcedure } from '../../src/router/document/description.ts';
import { tableOf } from '../../src/router/router.ts';
import type { Procedure } from '../../src/router/types.ts';
import { call, gateway, serve, untilReady } from './apps.ts';
import { connected } from './connected.ts';
import { describeNats, NatsServer } from './server.ts';

const count = 10_000;

interface Info {
  readonly metadata: { readonly 'tandem-omitted'?: string };
  readonly endpoints: readonly unknown[];
}

describeNats('the document of a contract', () => {
  test('is whole where its parts come twice', async (t) => {
    const server = await NatsServer.start();
    t.after(() => server.close());
    const { connection } = await connected(t, server.url);
    const router = new Router();
    for (const name of ['a', 'b', 'c'])
      router.register(
        name,
        procedure({}, () => name),
      );
    const document = Buffer.from(
      JSON.stringify([...tableOf(router).values()].map(describeProcedure)),
    );
    const third = Math.ceil(document.length / 3);
    connection.subscribe('x.doc.c', ({ reply, data }) => {
      const { from } = JSON.parse(Buffer.from(data).toString()) as { from: number };
      const headers = [['Tandem-Total', String(document.length)]] as const;
      const part = document.subarray(from, from + third);
      for (let i = 0; i < 2; i++) connection.publish(reply, part, { headers });
    });
    const procedures = await new Promise<ReadonlyMap<string, Procedure>>((resolve) => {
      new DocumentFetch(connection, 'x.doc.c', resolve).look(clockMs());
    });
    assert.deepEqual([...procedures.keys()], ['a', 'b', 'c']);
  });
});

describeNats('ten thousand procedures', () => {
  test('are served through a gateway: its document comes in parts, and is that of the member', async (t) => {
    const server = await NatsServer.start();
    t.after(() => server.close());
    const { connection } = await connected(t, server.url);
    const parts: number[] = [];
    connection.subscribe('tandem.doc.>', ({ data }) => {
      parts.push((JSON.parse(Buffer.from(data).toString()) as { from: number }).from);
    });
    await connection.confirm();
    const router = new Router();
    const names = Array.from({ length: count }, (_, i) => `area${i % 100}.procedure${i}`);
    for (const [i, name] of names.entries()) {
      const doc = `Gives the number ${i}, which is the number of this procedure.`;
      router.register(
        name,
        procedure({ placement: 'inline', doc }, () => i),
      );
    }
    const nats = { servers: server.url, role: 'member' } as const;
    const [one, front] = await Promise.all([serve(t, { router, nats }), gateway(t, server.url)]);
    await untilReady(front.url);
    for (const at of [0, 1, count / 2, count - 1]) {
      assert.equal((await call(front.url, String(names[at]))).result, at);
    }
    const documents = [one, front].map(async ({ url }) => (await fetch(url)).text());
    const [own, theirs] = await Promise.all(documents);
    assert.ok(own === theirs && own !== undefined, 'the documents differ');
    for (const name of names) assert.ok(own.includes(`"${name}"`), name);
    // One behind the other. What takes long is asked for again.
    const places = [...new Set(parts)];
    assert.ok(places.length > 2, places.join());
    assert.deepEqual(
      places,
      places.map((_, i) => i * 512 * 1024),
    );
    const info = new Promise<Info>((resolve) => {
      connection.subscribe('answers.here', ({ data }) => {
        resolve(JSON.parse(Buffer.from(data).toString()) as Info);
      });
    });
    connection.publish('$SRV.INFO.tandem', '', { reply: 'answers.here' });
    const { metadata, endpoints } = await info;
    const omitted = Number(metadata['tandem-omitted']);
    assert.ok(omitted > 0);
    assert.equal(endpoints.length + omitted, count + 1);
  });
});
