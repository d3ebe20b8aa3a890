/** docs/operations.md: the figures of where time, CPU time and memory go, and the line of a slow call. */
import assert from 'node:assert/strict';
import type { EventEmitter } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { renderMetrics } from '../../src/core/service/metrics.ts';
import type { DispatcherOptions } from '../../src/index.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { Exposition } from '../observe/exposition.ts';
import { fixture, ok, Running, resultOf } from './running.ts';

const options: DispatcherOptions = {
  modules: [fixture('figures.ts')],
  groups: { transcriptions: { workers: 1, spareWorkers: 0 } },
};

const isLinux = process.platform === 'linux';

const busyName = 'tandem_call_busy_seconds_total';
const cpuName = 'tandem_worker_cpu_seconds_total';
const heapName = 'tandem_worker_heap_bytes';

async function scrape({ dispatcher }: Running): Promise<Exposition> {
  const { metrics } = dispatcher;
  assert.ok(metrics !== undefined);
  // Not `text()`, which may be a second old.
  return new Exposition(await renderMetrics([await metrics.read()]));
}

/** Seconds that calls of a procedure were in its handler. */
function ranIn(seen: Exposition, procedure: string): number {
  const [duration, wait] = ['duration', 'wait'].map((name) =>
    seen.value(`tandem_call_${name}_seconds_sum`, { procedure }),
  );
  return Number(duration) - Number(wait);
}

/** The labels of all series of a name, without the process. */
function seriesOf(seen: Exposition, name: string): unknown[] {
  return seen.samples(name).map(({ labels: { process: _one, ...labels } = {} }) => labels);
}

const bothSeats = [{ worker: '1' }, { group: 'transcriptions', worker: '1' }];

describe('busy seconds by procedure and place', () => {
  const running = Running.suite(options);

  for (const [prefix, place, labels] of [
    ['inline', 'inline', undefined],
    ['worker', 'worker', { worker: '1' }],
    ['group', 'worker:transcriptions', { worker: '1', group: 'transcriptions' }],
  ] as const) {
    test(`are what synchronous code took, and the CPU time of its worker is no less: ${place}`, async () => {
      const procedure = `${prefix}.spin`;
      const before = await scrape(running);
      const reply = await running.ask({ method: procedure, params: { ms: 60 }, id: 1 });
      const { wallMs, cpuMs } = resultOf(reply) as { wallMs: number; cpuMs: number };
      const after = await scrape(running);
      const busy = after.value(busyName, { procedure, place });
      const run = ranIn(after, procedure);
      assert.ok(busy >= wallMs / 1000 && busy <= run + 1e-9, `${busy} s of ${run}, ${wallMs} ms`);
      if (labels === undefined || !isLinux) return;
      const cpu = after.value(cpuName, labels) - before.value(cpuName, labels);
      assert.ok(cpuMs > 0 && cpu >= cpuMs / 1000, `${cpu} s, ${cpuMs} ms`);
    });

    test(`are without what comes after an await: ${place}`, async () => {
      const procedure = `${prefix}.pause`;
      const reply = await running.ask({ method: procedure, params: { ms: 20 }, id: 1 });
      const { wallMs, waitedMs } = resultOf(reply) as { wallMs: number; waitedMs: number };
      const seen = await scrape(running);
      const busy = seen.value(busyName, { procedure, place });
      const run = ranIn(seen, procedure);
      assert.ok(busy >= wallMs / 1000, `${busy} s, ${wallMs} ms`);
      // The second piece, of 20 ms too, is not in it.
      assert.ok(busy <= run - (waitedMs + 20) / 1000, `${busy} s of ${run}, ${waitedMs} ms`);
    });

    for (const kind of ['later', 'together'])
      test(`are what a handler took that began after a wait for authorize: ${prefix}.${kind}`, async () => {
        const procedure = `${prefix}.${kind}`;
        const reply = await running.ask({ method: procedure, params: { ms: 20 }, id: 1 });
        const { wallMs, waitedMs } = resultOf(reply) as { wallMs: number; waitedMs: number };
        const seen = await scrape(running);
        const busy = seen.value(busyName, { procedure, place });
        const run = ranIn(seen, procedure);
        assert.ok(busy >= wallMs / 1000, `${busy} s, ${wallMs} ms`);
        assert.ok(busy <= run - waitedMs / 1000, `${busy} s of ${run}, ${waitedMs} ms`);
      });
  }
});

describe('CPU time and memory by worker', () => {
  const running = Running.suite(options);

  test('have one series for each seat, and the threads their names', async () => {
    const seen = await scrape(running);
    assert.deepEqual(seriesOf(seen, heapName), bothSeats);
    assert.ok(seen.value(heapName, { worker: '1' }) > 1024 ** 2);
    if (!isLinux) return;
    assert.deepEqual(seriesOf(seen, cpuName), bothSeats);
    const names = readdirSync('/proc/self/task').map((tid) =>
      readFileSync(`/proc/self/task/${tid}/comm`, 'utf8').trim(),
    );
    // Linux keeps 15 bytes.
    for (const name of ['tw-worker-1', 'tw-transcript-1']) assert.ok(names.includes(name), name);
  });
});

test('a reload and a lost worker add no series, and no counter falls', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (result: number): string =>
    `import { Router } from 'tandem-rpc';
     const router = new Router();
     router.rpc({ name: 'give', placement: 'worker' }, () => ${result});
     router.rpc({ name: 'die', placement: 'worker' }, () => process.reallyExit(7));
     export default router;`;
  const running = Running.make(t, { modules: [folder.write('module.mjs', text(1))] });
  const { dispatcher } = running;
  const seen: Exposition[] = [];
  const give = async (result: number): Promise<void> => {
    assert.equal(resultOf(await running.ask({ method: 'give', id: 1 })), result);
    seen.push(await scrape(running));
  };
  await dispatcher.ready();
  await give(1);
  await running.ask({ method: 'die', id: 1 });
  await give(1);
  folder.write('module.mjs', text(2));
  assert.equal(await dispatcher.reload(), true);
  await give(2);
  const seat = [{ worker: '1' }];
  for (const one of seen) assert.deepEqual(seriesOf(one, heapName), seat);
  if (!isLinux) return;
  for (const one of seen) assert.deepEqual(seriesOf(one, cpuName), seat);
  const [first = 0, second = 0, third = 0] = seen.map((one) => one.value(cpuName));
  assert.ok(0 < first && first < second && second < third, `${first}, ${second}, ${third}`);
});

describe('a slow call', () => {
  const running = Running.suite({ ...options, slowCallMs: 1 });
  const slow = () =>
    running.lines.filter(({ fields }) => fields.event === 'call-slow').map(({ fields }) => fields);

  for (const [method, place] of [
    ['inline.spin', 'inline'],
    ['worker.spin', 'worker'],
    ['group.pause', 'worker:transcriptions'],
  ] as const) {
    test(`is one line with what it waited and ran: ${place}`, async () => {
      running.lines.length = 0;
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const facts = { remoteAddress: '192.0.2.1', traceparent };
      await running.ask({ method, params: { ms: 5 }, id: 'x' }, facts);
      const [line, ...more] = slow();
      assert.ok(line !== undefined && more.length === 0);
      const { ms, waitMs, runMs, busyMs, ...rest } = line as Readonly<Record<string, number>>;
      const known = { event: 'call-slow', method, id: 'x', code: 0, place, ref: undefined };
      assert.deepEqual(rest, { ...known, ...facts });
      assert.ok(busyMs !== undefined && runMs !== undefined && 5 <= busyMs && busyMs <= runMs);
      // Each is rounded to a microsecond.
      assert.ok(Math.abs(Number(ms) - Number(waitMs) - runMs) < 0.002);
      assert.doesNotMatch(JSON.stringify(line), /params/);
    });
  }

  test('has the ref of its fault', async () => {
    running.lines.length = 0;
    const reply = await running.ask({ method: 'fail', id: 1 });
    const [, ref] = /"ref":"([^"]+)"/.exec(String(reply)) ?? [];
    assert.deepEqual(
      slow().map((line) => [line.method, line.code, line.ref]),
      [['fail', -32603, ref]],
    );
  });

  test('is none if it opens a stream', async () => {
    running.lines.length = 0;
    for await (const value of running.dispatcher.stream({ method: 'ticks', id: 1 })) {
      assert.equal(value, 1);
    }
    assert.deepEqual(slow(), []);
  });
});

test('no call is slow by default, or below slowCallMs', async (t) => {
  for (const slowCallMs of [undefined, 600_000]) {
    const running = Running.make(t, { ...options, slowCallMs });
    await running.ask({ method: 'inline.spin', params: { ms: 5 }, id: 1 });
    const events = running.lines.map(({ fields }) => fields.event);
    assert.ok(!events.includes('call-slow'));
  }
});

describe('a reload', () => {
  test('keeps what was counted, and is counted itself', async (t) => {
    const folder = new ModuleFolder(t);
    const text = (result: number): string =>
      `import { Router } from 'tandem-rpc';
       const router = new Router();
       router.rpc({ name: 'in.give', placement: 'inline' }, () => ${result});
       router.rpc({ name: 'out.give', placement: 'worker' }, () => ${result});
       export default router;`;
    const running = Running.make(t, { modules: [folder.write('module.mjs', text(1))] });
    const { dispatcher } = running;
    const both = ['in.give', 'out.give'].map((method) => ({ method, id: 'x' }));
    assert.equal(await running.ask(both), `[${ok('x', 1)},${ok('x', 1)}]`);
    const framed = (await scrape(running)).value('tandem_frame_calls_total') ?? 0;
    folder.write('module.mjs', text(2));
    assert.equal(await dispatcher.reload(), true);
    assert.equal(await running.ask(both), `[${ok('x', 2)},${ok('x', 2)}]`);
    folder.write('module.mjs', 'syntax error');
    await assert.rejects(dispatcher.reload());
    const seen = await scrape(running);
    assert.deepEqual(seen.calls(), { 'in.give 0 inline': 2, 'out.give 0 worker': 2 });
    // At least: a call that a busy machine has not begun for long is taken back, and given again.
    assert.ok(framed >= 1 && Number(seen.value('tandem_frame_calls_total')) > framed);
    assert.equal(seen.value('tandem_reloads_total'), 1);
    assert.equal(seen.value('tandem_reload_failures_total'), 1);
    assert.ok(running.lines.some(({ fields }) => fields.event === 'reloaded'));
  });

  test('leaves what an older loading finishes among the requests in flight', async (t) => {
    const folder = new ModuleFolder(t);
    const text = (result: number): string =>
      `import { once } from 'node:events';
       import { Router } from 'tandem-rpc';
       const router = new Router();
       router.rpc({ name: 'wait', placement: 'inline' }, async () => {
         await once(process, 'waited');
         return ${result};
       });
       export default router;`;
    const running = await Running.start(t, {
      modules: [folder.write('module.mjs', text(1))],
      timeoutMs: 600_000, // the call lasts for as long as a busy machine takes to reload
    });
    const { dispatcher } = running;
    const waiting = running.ask({ method: 'wait', id: 'x' });
    folder.write('module.mjs', text(2));
    assert.equal(await dispatcher.reload(), true);
    assert.equal(dispatcher.stats().inFlight, 1);
    (process as EventEmitter).emit('waited');
    assert.equal(await waiting, ok('x', 1));
    assert.equal(dispatcher.stats().inFlight, 0);
  });
});
