/** Importing the package, as it is installed, starts nothing: neither in a program nor in a thread of one. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { installPacked } from '../cli/packed.ts';
import { userEnvironment } from '../compiled.ts';
import { temporaryFolder } from '../files.ts';

/**
 * What a thread holds: descriptors and threads of its process, active handles of its event loop (those that do not keep
 * it alive too), timers that were made, listeners on `process`. Reads of files have ended when it is taken. A libuv timer
 * without a repeat is left out: V8 plans work on its heap with those, and Node has one for all timers of JavaScript.
 */
const snapshot = `
  import { createHook } from 'node:async_hooks';
  import { readdirSync } from 'node:fs';
  import { setImmediate as turn } from 'node:timers/promises';
  let timers = 0;
  createHook({ init: (_id, type) => { if (type === 'Timeout') timers++; } }).enable();
  const isPlanned = ({ type, repeat }) => type === 'timer' && repeat === 0;
  export async function snapshot() {
    while (process.getActiveResourcesInfo().some((name) => name.endsWith('Req'))) await turn();
    const { libuv } = process.report.getReport();
    return {
      resources: process.getActiveResourcesInfo().sort(),
      handles: libuv.filter((handle) => handle.is_active && !isPlanned(handle)).map(({ type }) => type).sort(),
      descriptors: readdirSync('/proc/self/fd').length,
      timers,
      threads: readdirSync('/proc/self/task').length,
      listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    };
  }`;

/** @param use statements between the import and the second look */
const looks = (use: string): string => `
  import { snapshot } from './snapshot.mjs';
  await import('./nothing.mjs'); // what the first import of all starts is Node's own
  const before = await snapshot();
  const tandem = await import('tandem-rpc');
  ${use}
  const after = await snapshot();
  console.log(JSON.stringify({ before, after }));`;

/** The files that a thread has run: Node tells of each when a debugger asks. */
const filesRun = `
  import { Session } from 'node:inspector';
  const session = new Session();
  session.connect();
  const files = [];
  session.on('Debugger.scriptParsed', ({ params: { url } }) => files.push(url));
  session.post('Debugger.enable');
  files.length = 0; // its own are told first
  const tandem = await import('tandem-rpc');
  const paths = files.map((url) => /.*node_modules\\/(.+)/.exec(url)?.[1]).filter(Boolean);
  console.log(JSON.stringify(paths.filter((path) => !path.startsWith('tandem-rpc/')).sort()));`;

/** Those of Node's modules that take long to load, and that a program without them need not have. */
const nodeModulesLoaded = `
  const before = [...process.moduleLoadList];
  await import('tandem-rpc');
  const costly = ['child_process', 'dns/promises', 'https', 'tls', 'zlib'].map((name) => 'NativeModule ' + name);
  console.log(JSON.stringify({ before, loaded: process.moduleLoadList.filter((name) => costly.includes(name)) }));`;

const inThread = (file: string): string => `
  import { Worker } from 'node:worker_threads';
  new Worker(new URL('./${file}', import.meta.url));`;

describe('importing the package', { skip: process.platform !== 'linux' && 'reads /proc' }, () => {
  const folder = temporaryFolder({ after });
  before(async () => {
    await installPacked(folder);
    writeFileSync(join(folder, 'snapshot.mjs'), snapshot);
    writeFileSync(join(folder, 'nothing.mjs'), 'export {}');
  });

  function runAlone(script: string) {
    writeFileSync(join(folder, 'main.mjs'), script);
    const options = { cwd: folder, env: userEnvironment() };
    return promisify(execFile)(process.execPath, ['main.mjs'], options);
  }

  async function run(script: string): Promise<unknown> {
    const { stdout, stderr } = await runAlone(script);
    assert.equal(stderr, '');
    return JSON.parse(stdout);
  }

  async function runInThread(script: string): Promise<unknown> {
    writeFileSync(join(folder, 'thread.mjs'), script);
    return run(inThread('thread.mjs'));
  }

  async function assertNothingStarted(result: Promise<unknown>): Promise<void> {
    const { before, after } = (await result) as Record<'before' | 'after', object>;
    assert.deepEqual(after, before);
  }

  it('starts nothing on the main thread', () => assertNothingStarted(run(looks(''))));

  it('starts nothing in a worker thread', () => assertNothingStarted(runInThread(looks(''))));

  it('looking at rpcApp starts nothing either', async () => {
    const use = `
      const { rpcApp, RpcApp, defaultRouter } = tandem;
      const { inspect } = await import('node:util');
      if (!(rpcApp instanceof RpcApp) || (await rpcApp) !== rpcApp) throw new Error('no RpcApp');
      if (rpcApp.router !== defaultRouter || rpcApp.dispatcher.state !== 'starting') throw new Error('not as made');
      inspect(rpcApp, { depth: 9, showHidden: true, getters: true });
      JSON.stringify(rpcApp);`;
    await assertNothingStarted(run(looks(use)));
    await assertNothingStarted(runInThread(looks(use)));
  });

  it("runs files of this package alone, and those with the state of the program's TypeBox", async () => {
    const expected = [
      'system/policy.mjs',
      'type/registry/format.mjs',
      'type/registry/index.mjs',
      'type/registry/type.mjs',
      'value/guard/guard.mjs',
      'value/guard/index.mjs',
    ].map((path) => `@sinclair/typebox/build/esm/${path}`);
    assert.deepEqual(await run(filesRun), expected);
    assert.deepEqual(await runInThread(filesRun), expected);
  });

  it("loads none of Node's modules that few programs need", async () => {
    for (const result of [run(nodeModulesLoaded), runInThread(nodeModulesLoaded)]) {
      const { before, loaded } = (await result) as Record<'before' | 'loaded', string[]>;
      assert.ok(before.includes('NativeModule fs'), 'the names are as Node writes them');
      assert.deepEqual(loaded, []);
    }
  });

  it('what it had left out is there at the first use', async () => {
    const script = `
      import { defaultRouter, rpc, rpcApp } from 'tandem-rpc';
      rpc(function two() { return 2; });
      const { url } = await rpcApp.listen({ port: 0 });
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'two' });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body });
      console.log(await response.text());
      await rpcApp.close();`;
    const { stdout, stderr } = await runAlone(script);
    assert.equal(stdout, '{"jsonrpc":"2.0","id":1,"result":2}\n');
    assert.match(stderr, /"event":"ready"/);
  });
});
