import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type DispatcherOptions, Router } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { refusalOf } from '../refusal.ts';
import { fixture } from './running.ts';

async function startupError(name: string, options: DispatcherOptions = {}): Promise<string> {
  const { dispatcher } = new TestService({ modules: [fixture(name)], ...options });
  try {
    return await refusalOf(dispatcher.ready());
  } finally {
    await dispatcher.close();
  }
}

describe('a worker that cannot start is a start-up error that names the cause', () => {
  test('a module that throws in a worker', async () => {
    const message = await startupError('only-main.mjs');
    assert.match(message, /worker/);
    assert.match(message, /only-main\.mjs/);
    assert.match(message, /no database in this thread/);
  });

  test('a setup() that throws in a worker', async () => {
    const message = await startupError('failing-setup.mjs');
    assert.match(message, /worker/);
    assert.match(message, /failing-setup\.mjs/);
    assert.match(message, /no database for a worker/);
  });

  test('other procedures than in the main thread', async () => {
    const message = await startupError('other-procedures.mjs');
    assert.match(message, /worker/);
    assert.match(message, /other-procedures\.mjs/);
  });

  for (const name of ['only-main-use.mjs', 'only-main-authorize.mjs']) {
    test(`middleware that the workers lack: ${name}`, async () => {
      const message = await startupError(name);
      assert.match(message, /or other middleware, .* worker/);
      assert.ok(message.includes(name));
    });
  }

  test('a broadcast that the workers lack', async () => {
    assert.match(
      await startupError('only-main-broadcast.mjs'),
      /in this worker .*only-main-broadcast\.mjs\), or export other broadcasts: /,
    );
  });

  test('another schema than in the main thread', async () => {
    const message = await startupError('other-schema.mjs');
    assert.match(message, /worker/);
    assert.match(message, /other-schema\.mjs/);
  });

  test('a module that never ends loading', async () => {
    const message = await startupError('never-loads.mjs', { startTimeoutMs: 2000 });
    assert.match(message, /2000 ms/);
    assert.match(message, /0 of 1/);
    assert.match(message, /startTimeoutMs/);
  });

  test('a module that serves itself', async () => {
    const message = await startupError('serves-itself.mjs');
    assert.match(message, /in a worker thread/);
    assert.match(message, /start the service in another file/);
  });

  test('a module that is not there', async () => {
    assert.match(await startupError('not-there.mjs'), /not-there\.mjs/);
  });
});

describe('a router without procedures is a warning', () => {
  for (const [what, served, says] of [
    [
      'of a module, which it names',
      { modules: [fixture('procedures.ts'), fixture('empty.mjs')] },
      /^the router of \S*empty\.mjs has no procedure: register them/,
    ],
    ['given as an object', { router: new Router() }, /^the router has no procedure/],
  ] as const) {
    test(what, async (t) => {
      const { lines } = await TestService.start(t, served);
      const told = lines.filter(({ fields }) => fields.event === 'no-procedures');
      assert.deepEqual(
        told.map(({ level }) => level),
        ['warn'],
      );
      assert.match(told[0]?.message ?? '', says);
    });
  }
});
