import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type DispatcherOptions, Router, StartupError } from '../../src/index.ts';
import { moduleUrl, nodeFlags, root } from '../files.ts';
import { TestService } from '../harness.ts';
import { patience } from '../patience.ts';
import { needs } from '../servers.ts';
import { fixture } from './running.ts';

async function startupError(name: string, options: DispatcherOptions = {}): Promise<string> {
  const { dispatcher } = new TestService({ modules: [fixture(name)], ...options });
  try {
    await dispatcher.ready();
  } catch (error) {
    assert.ok(error instanceof StartupError, String(error));
    assert.doesNotMatch(error.message, /\n/);
    await dispatcher.close();
    return error.message;
  }
  await dispatcher.close();
  assert.fail(`${name} started`);
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

describe('importing', () => {
  const load = (path: string) => JSON.stringify(moduleUrl(path));

  /** Native libraries and modules of a process that has run a script. */
  async function loadedBy(script: string): Promise<string[]> {
    const report = `
      const { createRequire } = await import('node:module');
      const { sharedObjects } = process.report.getReport();
      const cached = Object.keys(createRequire(import.meta.url).cache);
      console.log(JSON.stringify([...sharedObjects, ...cached]));
      process.exit();
    `;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...nodeFlags, '--input-type=module', '-e', `${script}\n${report}`],
      { cwd: root, maxBuffer: 10_000_000 },
    );
    return JSON.parse(stdout.split('\n').at(-2) ?? '') as string[];
  }

  const native = (paths: readonly string[]) =>
    paths.filter((path) => /uwebsockets|uws_/i.test(path));

  test('all public names load no HTTP binary, nor does running a dispatcher', async () => {
    const script = `
      const { Dispatcher } = await import(${load('src/index.ts')});
      const dispatcher = new Dispatcher({
        modules: [${JSON.stringify(fixture('procedures.ts'))}],
        workers: 1,
        spareWorkers: 0,
        ...${JSON.stringify(patience)},
      });
      if (!(await dispatcher.dispatchText('{"method":"out.thread","id":1}')).includes('result')) throw 1;
    `;
    assert.deepEqual(native(await loadedBy(script)), []);
  });

  test('the check sees it where it is loaded', needs('uws'), async () => {
    const script = `
      const { loadUws } = await import(${load('src/server/http/uws/load.ts')});
      const { uws, reason } = await loadUws();
      if (uws === undefined) throw new Error(reason);
    `;
    assert.notDeepEqual(native(await loadedBy(script)), []);
  });

  test('opens nothing: the process ends by itself', async () => {
    const script = `await import(${load('src/index.ts')}); console.log('imported');`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...nodeFlags, '--input-type=module', '-e', script],
      { cwd: root },
    );
    assert.equal(stdout, 'imported\n');
  });
});
