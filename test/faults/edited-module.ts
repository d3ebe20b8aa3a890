import { join } from 'node:path';
import { Dispatcher, type DispatcherOptions } from '../../src/index.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { patience } from '../patience.ts';
import { recorder } from '../service/harness.ts';
import { until } from '../service/journal.ts';

/** A module that is served, and edited meanwhile. Each procedure gives the version that it was loaded with. */
export class EditedModule {
  readonly folder: ModuleFolder;
  readonly lines: ReturnType<typeof recorder>['lines'];
  readonly dispatcher: Dispatcher;
  readonly #owner: { after(clean: () => void | Promise<void>): void };

  constructor(
    t: { after(clean: () => void | Promise<void>): void },
    options: DispatcherOptions = {},
    code = '',
  ) {
    this.#owner = t;
    this.folder = new ModuleFolder(t);
    const { log, lines } = recorder();
    this.lines = lines;
    this.edit(1, code);
    const modules = [join(this.folder.path, 'served.mjs')];
    this.dispatcher = new Dispatcher({
      workers: 1,
      spareWorkers: 0,
      // Other processes on the machine must not keep a worker from loading.
      niceIncrement: 0,
      ...patience,
      log,
      ...options,
      modules,
    });
    this.#owner.after(() => this.dispatcher.close(0));
  }

  /** @param code behind the procedures; a line of its own: line 11 */
  edit(version: number, code = ''): void {
    this.folder.write('version.mjs', `export const version = ${version};\n`);
    this.folder.write(
      'served.mjs',
      `import { existsSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { execFileSync } from 'node:child_process';
import { Router } from 'tandem-rpc';
import { version } from './version.mjs';
const here = (name) => new URL(name, import.meta.url);
const router = new Router();
router.rpc({ name: 'worker', placement: 'worker' }, () => version);
router.rpc({ name: 'inline', placement: 'inline' }, () => version);
router.rpc({ name: 'die', placement: 'worker' }, () => process.reallyExit(1));
${code}
// The thread is to be in native code by then, on a busy machine too.
router.rpc({ name: 'stuck', placement: 'worker', timeoutMs: 2000 }, () => {
  execFileSync('sh', ['-c', 'until [ -e "$0" ]; do sleep 0.1; done', here('release').pathname]);
});
export default router;
`,
    );
  }

  file(name: string): string {
    return join(this.folder.path, name);
  }

  /** The versions that one batch sees, in the worker and inline. */
  async versions(): Promise<unknown[]> {
    const batch = ['worker', 'inline', 'worker'].map((method, id) => ({ id, method }));
    const replies = (await this.dispatcher.dispatch(batch)) as { result?: unknown }[];
    return replies.map((reply) => reply.result ?? reply);
  }

  /** The error of a reload, in one line; undefined: it went well. */
  async refusal(): Promise<string | undefined> {
    return this.dispatcher.reload().then(
      () => undefined,
      (error: Error) => error.message,
    );
  }

  /** Resolves when a line of the log says so. */
  async logged(pattern: RegExp): Promise<void> {
    await until(() =>
      this.lines.some(({ message, fields }) => pattern.test(`${message} ${String(fields.detail)}`)),
    );
  }

  /** Ends a worker from inside. */
  async killWorker(): Promise<void> {
    await this.dispatcher.dispatch({ id: 1, method: 'die' });
  }
}
