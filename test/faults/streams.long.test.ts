import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EditedModule } from './edited-module.ts';

const streams = `
const waits = { placement: 'worker', stream: true };
router.rpc({ name: 'until', ...waits }, async function* (_params, { signal }) {
  yield version;
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  yield 'last words';
});
router.rpc({ name: 'deaf', ...waits }, async function* () {
  yield version;
  await new Promise(() => {});
});
router.rpc({ name: 'finishing', ...waits, stream: { drain: 'finish' } }, async function* (_params) {
  yield version;
  await new Promise((resolve) => setTimeout(resolve, 1500));
  return version;
});
`;

/** The stream's next value or return value; or its error. */
async function next(stream: AsyncGenerator<unknown, unknown>): Promise<unknown> {
  return stream.next().then(
    ({ value }) => value,
    ({ code, data }: { code: number; data: { reason: string } }) => `${code} ${data.reason}`,
  );
}

describe('streams in workers while the modules are reloaded', () => {
  test('end at their next yield, or finish; what opens meanwhile is of the new modules', async (t) => {
    const served = new EditedModule(t, {}, streams);
    const { dispatcher } = served;
    await dispatcher.ready();
    const open = (method: string) => dispatcher.stream({ id: 1, method });
    const [ending, finishing] = [open('until'), open('finishing')];
    assert.deepEqual(await Promise.all([ending, finishing].map(next)), [1, 1]);
    served.edit(2, streams);
    assert.equal(await dispatcher.reload(), true);
    const after = open('until');
    assert.equal(await next(after), 2);
    assert.equal(await next(ending), 'last words');
    assert.equal(await next(ending), '-32003 reload');
    assert.equal(await next(finishing), 1, 'it had its time');
    await after.return(undefined);
  });

  test('are cut after maxRequestMs where they do not end', async (t) => {
    const served = new EditedModule(t, { maxRequestMs: 300 }, streams);
    const { dispatcher } = served;
    await dispatcher.ready();
    const deaf = dispatcher.stream({ id: 1, method: 'deaf' });
    assert.equal(await next(deaf), 1);
    served.edit(2, streams);
    assert.equal(await dispatcher.reload(), true);
    assert.equal(await next(deaf), '-32003 reload');
  });
});
