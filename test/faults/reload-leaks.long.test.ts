import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../turns.ts';
import { EditedModule } from './edited-module.ts';

/** What a process has of the system: threads, and files that are open. */
function held(): { threads: number; files: number } {
  return {
    threads: readdirSync('/proc/self/task').length,
    files: readdirSync('/proc/self/fd').flatMap(targetOf).length,
  };
}

function targetOf(descriptor: string): string[] {
  try {
    return [readlinkSync(`/proc/self/fd/${descriptor}`)];
  } catch {
    return []; // the one that the listing itself had
  }
}

/** Resolves when no more is held than before; a test that waits for ever has found a leak. */
async function untilAtMost(before: ReturnType<typeof held>): Promise<void> {
  await until(() => {
    const { threads, files } = held();
    return threads <= before.threads && files <= before.files;
  });
}

const rest = async (): Promise<void> => {
  // The threads of libuv, of loaders and of the first reload come once and stay.
  let before = held();
  for (let same = 0; same < 20; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = held();
    same = now.threads === before.threads && now.files === before.files ? same + 1 : 0;
    before = now;
  }
};

test('refused and given up reloads leave no thread and no open file', async (t) => {
  const served = new EditedModule(t);
  await served.dispatcher.ready();
  served.edit(2);
  assert.equal(await served.dispatcher.reload(), true);
  await rest();
  const before = held();
  const edits = [
    "export const setup = () => { if (!isMainThread) throw new Error('in a worker only'); };",
    "setTimeout(() => { throw new Error('late'); }, 20);",
    'process.reallyExit(1);',
  ];
  for (let round = 0; round < 2; round++) {
    for (const code of edits) {
      served.edit(3, code);
      assert.notEqual(await served.refusal(), undefined);
    }
  }
  await untilAtMost(before);
  assert.deepEqual(await served.versions(), [2, 2, 2]);
});

test('reloads beside a zombie leave nothing but the zombie, which is counted, and nothing comes when it goes', async (t) => {
  const served = new EditedModule(t);
  const { dispatcher } = served;
  await dispatcher.ready();
  served.edit(2);
  assert.equal(await dispatcher.reload(), true);
  await rest();
  const before = held();
  await dispatcher.dispatch({ id: 1, method: 'stuck' });
  await until(() => dispatcher.stats().pool?.zombies === 1);
  for (let version = 3; version < 6; version++) {
    served.edit(version);
    assert.equal(await dispatcher.reload(), true);
  }
  // The zombie, the child that it waits for, and the hooks of its thread.
  await until(() => held().threads <= before.threads + 2);
  assert.equal(dispatcher.stats().pool?.zombies, 1);
  writeFileSync(served.file('release'), '');
  await until(() => dispatcher.stats().pool?.zombies === 0);
  await untilAtMost(before);
  await rest();
  await untilAtMost(before);
  assert.deepEqual(await served.versions(), [5, 5, 5]);
});
