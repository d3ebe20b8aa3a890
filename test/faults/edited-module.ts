import { join } from 'node:path';
import type { Dispatcher, DispatcherOptions } from '../../src/index.ts';
import { type Lifetime, type LogLine, TestService } from '../harness.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { until } from '../turns.ts';

/** A module that is served, and edited meanwhile. Each procedure gives the version that it was loaded with. */
export class EditedModule {
  readonly folder: ModuleFolder;
  readonly dispatcher: Dispatcher;
  readonly lines: readonly LogLine[];

  constructor(t: Lifetime, options: DispatcherOptions = {}, code = '') {
    this.folder = new ModuleFolder(t);
    this.edit(1, code);
    const modules = [this.file('served.mjs')];
    ({ dispatcher: this.dispatcher, lines: this.lines } = TestService.make(t, {
      ...options,
      modules,
    }));
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
