import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { moduleUrl, nodeFlags, root } from '../files.ts';
import { patience } from '../patience.ts';
import { needs } from '../servers.ts';
import { fixture } from './running.ts';

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
});
