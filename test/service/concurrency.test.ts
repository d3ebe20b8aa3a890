import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { DispatcherOptions } from '../../src/index.ts';
import { fixture, Running } from './running.ts';

function start(t: TestContext, options: DispatcherOptions = {}): Promise<Running> {
  return Running.start(t, { modules: [fixture('bounded.ts')], ...options });
}

/** Resolves when a call has run that was sent after all others: those of them that may go have begun. */
async function othersHaveBegun({ dispatcher }: Running): Promise<void> {
  await dispatcher.dispatch({ id: 0, method: 'free' });
}

function codeOf(reply: string | undefined): number | undefined {
  return (JSON.parse(reply ?? '{}') as { error?: { code: number } }).error?.code;
}

test('maxConcurrency: the place of a call past its deadline is free when its handler has ended, and a line of the log names it', async (t) => {
  const running = await start(t, { workers: 2 });
  const { journal, lines } = running;
  assert.equal(codeOf(await running.call('overdue', 'a')), -32001);
  // Callers that wait for the place meet their own deadlines.
  for (const text of ['b', 'c'])
    assert.equal(codeOf(await running.call('overdue', text, { timeoutMs: 30 })), -32001);
  const last = running.call('overdue', 'd');
  await othersHaveBegun(running);
  assert.deepEqual(journal.lines(), ['a begins']);
  const held = lines.filter(({ fields }) => fields.event === 'concurrency-held');
  assert.deepEqual(
    held.map(({ level, fields }) => [level, fields.method]),
    [['warn', 'overdue']],
  );
  running.release();
  assert.equal(codeOf(await last), undefined);
  assert.deepEqual(journal.lines(), ['a begins', 'a ends', 'd begins', 'd ends']);
});

test('maxConcurrency: a stream holds its place until its generator has ended', async (t) => {
  const running = await start(t, { workers: 2 });
  const { journal, dispatcher } = running;
  const stream = dispatcher.stream({
    id: 1,
    method: 'streams',
    params: { file: journal.file, text: 'a' },
  });
  assert.equal((await stream.next()).value, 1);
  assert.equal((await stream.next()).value, 2);
  const reading = dispatcher.stream({
    id: 2,
    method: 'streams',
    params: { file: journal.file, text: 'b' },
  });
  const first = reading.next();
  await othersHaveBegun(running);
  // Its reader leaves, and the generator has still to end.
  await stream.return(undefined);
  await journal.until('end of a begins');
  await othersHaveBegun(running);
  assert.deepEqual(journal.lines(), ['a begins', 'end of a begins']);
  running.release();
  assert.equal((await first).value, 1);
  assert.deepEqual(journal.lines().slice(0, 4), [
    'a begins',
    'end of a begins',
    'end of a ends',
    'b begins',
  ]);
  await reading.return(undefined);
});
