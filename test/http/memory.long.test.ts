import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type AppOptions, Router } from '../../src/index.ts';
import { carriers, type Served, serve } from '../app/hooks/serve.ts';
import { temporaryFolder } from '../files.ts';
import { needs } from '../servers.ts';
import { fixture } from '../service/running.ts';
import { turns, until } from '../turns.ts';
import { json, neverHeld, post, request, rpc } from './raw-client.ts';

/** What bodies and replies take in memory, seen by the ledgers: over all ways in. */

const modules = [fixture('procedures.ts')];
const large = 300_000;
const bodiesOf = ({ app }: Served) => app.dispatcher.stats().bodies;
const repliesOf = ({ app }: Served) => app.dispatcher.stats().replies;
const lengthOf = (letter: string, id = 1) => rpc('out.length', { text: letter.repeat(large) }, id);

/** A worker that is in a call until it is let go. */
async function holdWorker(t: TestContext, served: Served): Promise<() => void> {
  const file = join(temporaryFolder(t), 'journal');
  const one = served.client();
  await one.write(post(rpc('hold', { file, text: 'a' })));
  await until(() => served.app.dispatcher.stats().pool?.workers[0]?.inFlight === 1);
  return () => writeFileSync(`${file}.go`, '');
}

function many(): Router {
  const router = new Router();
  for (let i = 0; i < 300; i++) {
    router.rpc({ name: `p${i}`, placement: 'inline', doc: 'x'.repeat(500) }, () => i);
  }
  router.rpc({ name: 'text', placement: 'inline' }, ({ length }) => 'x'.repeat(Number(length)));
  return router;
}

for (const carrier of carriers) {
  describe(`memory, over ${carrier}`, () => {
    const start = (t: TestContext, given: AppOptions) => serve(t, carrier, given);

    test('large bodies, one after another, lie in one buffer', async (t) => {
      const served = await start(t, { modules });
      const one = served.client();
      for (let i = 0; i < 20; i++) {
        const { result } = json(await one.ask(post(lengthOf('abc'[i % 3] as string))));
        assert.equal((result as unknown as number[])[0], large);
        await until(() => bodiesOf(served).inUse === 0);
        const { kept } = bodiesOf(served);
        assert.ok(kept >= large && kept < 2 * large, `${kept} kept`);
      }
    });

    test('a late worker never reads what another call has put into the memory of a body', async (t) => {
      const served = await start(t, { modules, maxQueueMs: 60_000 });
      const release = await holdWorker(t, served);
      // Sent to the worker or waiting for it, and given up: by their deadline, and by their client.
      const gone = served.client();
      await gone.write(post(lengthOf('b', 8)));
      await until(() => served.app.dispatcher.stats().inFlight >= 2);
      const impatient = post(lengthOf('a', 7), { 'rpc-timeout-ms': '50' });
      assert.equal(json(await served.client().ask(impatient)).error.code, -32001);
      gone.destroy();
      await until(() => served.app.dispatcher.stats().inFlight <= 1);
      // What was theirs is another's now, while the worker has still to come to their calls.
      const marks = ['c', 'd', 'e', 'f'];
      const answers = marks.map(async (mark, i) => {
        const body = rpc('out.repeat', { text: mark.repeat(large), times: 1 }, i);
        return json(await served.client().ask(post(body))).result;
      });
      await until(() => served.app.dispatcher.stats().inFlight >= 5);
      release();
      for (const [i, answer] of (await Promise.all(answers)).entries()) {
        assert.ok(answer === (marks[i] as string).repeat(large), `${i}`);
      }
      await until(() => bodiesOf(served).inUse === 0);
    });

    test('a call that is killed gives the memory of its body back when its thread has gone', async (t) => {
      const served = await start(t, { modules, spareWorkers: 1, maxQueueMs: 60_000 });
      const body = rpc('hold', { file: join(tmpdir(), 'never'), text: 'x'.repeat(large) });
      const doomed = post(body, { 'rpc-timeout-ms': '100' });
      assert.equal(json(await served.client().ask(doomed)).error.code, -32001);
      await until(() => bodiesOf(served).inUse === 0);
      assert.ok(bodiesOf(served).kept < 2 * large);
      const { result } = json(await served.client().ask(post(lengthOf('a'))));
      assert.equal((result as unknown as number[])[0], large);
    });

    for (const [what, bytes] of [
      ['documents', request('GET', '/rpc')],
      ['batches', post(`[${'1,'.repeat(999)}1]`)],
      ['large results', post(rpc('text', { length: 100_000 }))],
      ['small results', post(rpc('text', { length: 2000 }))],
      ['404s', request('GET', '/nothing')],
      ['413s', post('', { 'content-length': String(11 * 1024 * 1024) })],
      ['answers without a body', request('OPTIONS', '/rpc')],
    ] as const) {
      test(`who pipelines and does not read is not answered more: ${what}`, async (t) => {
        const served = await start(t, { router: many() });
        const one = served.client();
        one.socket.pause();
        const chunk = Buffer.concat(
          Array.from({ length: 400 }, () => Buffer.from(bytes as Uint8Array)),
        );
        // As much as the server takes; one that is closed takes nothing.
        for (let i = 0; i < 20; i++) {
          void one.write(chunk);
          for (let turn = 0; turn < 10; turn++) await turns();
          const { waiting } = repliesOf(served);
          // Of eight thousand replies those to the requests of one packet, sixteen at most.
          assert.ok(waiting <= 256 * 1024 + 16 * 100_100, `${waiting} wait`);
        }
        one.destroy();
        assert.equal((await served.client().ask(post(rpc('p1')))).status, 200);
        await until(() => repliesOf(served).waiting === 0);
      });
    }
  });
}

test('on node:http a connection is cut that sends thousands of requests behind calls that wait', async (t) => {
  const router = many();
  const waiting: (() => void)[] = [];
  router.rpc({ name: 'wait', placement: 'inline', async: true }, () => {
    return new Promise<void>((resolve) => waiting.push(resolve));
  });
  const served = await serve(t, 'node', { router });
  const [patient, greedy] = [served.client(), served.client()];
  await patient.write(
    Buffer.concat(Array.from({ length: 100 }, (_, i) => post(rpc('wait', {}, i)))),
  );
  const begun = () => waiting.length;
  await until(() => begun() >= 16);
  await turns();
  assert.equal(begun(), 16, 'at a time');
  await greedy.write(post(rpc('wait')));
  await until(() => begun() >= 17);
  void greedy.write(request('GET', '/healthz').repeat(3000));
  await greedy.untilClosed();
  for (let answered = 0; answered < 101; answered++) {
    await until(() => waiting.length !== 0);
    waiting.shift()?.();
    if (answered !== 16) assert.equal((await patient.response()).status, 200);
  }
});

test(
  'on uWebSockets.js a reply is offered anew to a system that does not call the connection writable',
  needs('uws'),
  async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const router = many();
    const served = await serve(t, 'uws', { router, maxReplyBytes: 2 * neverHeld });
    const one = served.client();
    await one.write(post(rpc('text', { length: neverHeld })));
    await once(one.socket, 'data');
    one.socket.pause();
    // Its clock of 10 s begins again with each offer: the reply is still there, and whole, behind any number.
    for (let i = 0; i < 100; i++) {
      t.mock.timers.tick(2500);
      await turns();
    }
    one.socket.resume();
    assert.equal(json(await one.response()).result.length, neverHeld);
  },
);
