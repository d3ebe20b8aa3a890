import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../turns.ts';
import { lost, ok, Running, resultOf } from './running.ts';

async function thread(running: Running): Promise<number> {
  return resultOf(await running.ask({ method: 'out.thread', id: 1 })) as number;
}

/** What the last line about a lost worker says. */
function lostLine({ lines }: Running): unknown[] {
  const line = lines.findLast(({ fields }) => fields.event === 'worker-lost');
  const { reason, method, methods } = line?.fields ?? {};
  return [line?.message, reason, method ?? methods];
}

/** The ref of a reply that is a -32603 and says no more. */
function refOf(reply: string | undefined): string {
  const { error } = JSON.parse(reply ?? '') as { error: { code: number; data: { ref: string } } };
  const { ref } = error.data;
  const expected = { code: -32603, message: 'Internal error', data: { ref } };
  assert.deepEqual(error, expected);
  return ref;
}

describe('what a procedure does to its thread', () => {
  // Without a spare, and so without an express worker: which thread runs a call is the same on a busy machine.
  const running = Running.suite();

  test('process.exit is an error of its call, a line in the log that names it, and the thread stays', async () => {
    const before = await thread(running);
    const gone = new AbortController();
    const neighbour = running.call('out.untilAborted', 'n', { signal: gone.signal });
    await running.begunOn('n');
    for (const method of ['exit', 'exitLater']) {
      const seen = running.lines.length;
      const ref = refOf(await running.ask({ method, id: 'a' }));
      await until(() => running.lines.length > seen);
      const lines = running.lines.slice(seen);
      assert.deepEqual(
        lines.map(({ level, message, fields }) => [level, message, fields.event, fields.ref]),
        [
          [
            'error',
            `a procedure called process.exit(3) in a worker: ${method}`,
            'procedure-exit',
            ref,
          ],
        ],
      );
      assert.match(String(lines[0]?.fields.detail), /^ProcessExit: .*\n[\s\S]*procedures\.[jt]s/);
    }
    assert.equal(await thread(running), before);
    gone.abort();
    assert.equal(await neighbour, ok('n', -32003));
    assert.equal(running.dispatcher.stats().pool?.deaths, 0);
  });

  test('a late throw and a rejection nobody handles are lines in the log', async () => {
    const before = await thread(running);
    const seen = running.lines.length;
    assert.equal(resultOf(await running.ask({ method: 'throwLater', id: 1 })), before);
    assert.equal(resultOf(await running.ask({ method: 'rejectLater', id: 1 })), before);
    const details = () =>
      running.lines
        .slice(seen)
        .filter(({ level }) => level === 'error')
        .map(({ fields }) => String(fields.detail));
    await until(() => details().length >= 2);
    assert.deepEqual(
      new Set(details().map((detail) => /(thrown|rejected) late/.exec(detail)?.[0])),
      new Set(['rejected late', 'thrown late']),
    );
    assert.equal(await thread(running), before);
  });

  test('the end of a thread: its call is lost, a neighbour too, what has not started runs elsewhere', async () => {
    const before = await thread(running);
    const { file } = running.journal;
    const neighbour = running.call('out.hangForLong', 'n');
    assert.equal(await running.begunOn('n'), before);
    const died = running.ask({ method: 'die', id: 'd' });
    const names = Array.from({ length: 10 }, (_, i) => `c${i}`);
    const behind = names.map((name) => running.call('out.count', name));
    const batch = running.ask([
      { method: 'in.count', params: { file, text: 'b0' }, id: 'b0' },
      { method: 'die', id: 'b1' },
      { method: 'out.count', params: { file, text: 'b2' }, id: 'b2' },
    ]);
    assert.equal(await died, lost('d', 'exit'));
    assert.equal(await neighbour, lost('n', 'neighbour'));
    assert.deepEqual(
      await Promise.all(behind),
      names.map((name) => ok(name, name)),
    );
    assert.equal(await batch, `[${ok('b0', 'b0')},${lost('b1', 'exit')},${ok('b2', 'b2')}]`);
    for (const name of [...names, 'b0', 'b2']) assert.equal(running.journal.count(name), 1, name);
    assert.notEqual(await thread(running), before);
    assert.equal(running.dispatcher.stats().pool?.deaths, 2);
    assert.deepEqual(lostLine(running), ['a worker was lost; it was in die', 'exit', 'die']);
  });

  test('a worker that ends behind an await: the line names all procedures that had begun there', async () => {
    const alone = running.ask({ method: 'dieLater', id: 'd' });
    assert.equal(await alone, lost('d', 'exit'));
    const one = 'a worker was lost; under way there: dieLater';
    assert.deepEqual(lostLine(running), [one, 'exit', 'dieLater']);
    const neighbour = running.call('out.hangForLong', 'n');
    await running.begunOn('n');
    await running.ask({ method: 'dieLater', id: 'd' });
    assert.equal(await neighbour, lost('n', 'exit'));
    const both = ['out.hangForLong', 'dieLater'];
    const two = `a worker was lost; under way there: ${both.join(', ')}`;
    assert.deepEqual(lostLine(running), [two, 'exit', both]);
  });
});
