import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Dispatcher } from '../../src/index.ts';
import { patience } from '../patience.ts';

export interface ReloadReport {
  readonly reloads: number;
  readonly calls: number;
  readonly answered: number;
  readonly executed: number;
  /** What went wrong, each in a line. */
  readonly violations: readonly string[];
  readonly threadsBefore: number;
  readonly threadsAfter: number;
  readonly rssBeforeMb: number;
  readonly rssAfterMb: number;
  /** What the main thread keeps of each old generation, KB of heap. */
  readonly heapPerReloadKb: number;
}

/** Each reply shows what the ES module and the CommonJS module see, two imports further on. */
const moduleText = `import { appendFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { Router, Type } from 'tandem-rpc';
import { esm } from './esm-one.mjs';
import cjs from './cjs-one.cjs';
const router = new Router();
const params = Type.Object({ n: Type.Integer(), journal: Type.String() });
const see = ({ n, journal }) => { appendFileSync(journal, n + '\\n'); return { n, esm, cjs }; };
const later = async (params) => { await turn(); const seen = see(params); await turn(); return seen; };
for (const placement of ['inline', 'worker']) {
  router.rpc({ name: placement + '.see', placement, params }, see);
  router.rpc({ name: placement + '.later', placement, params }, later);
}
export default router;
`;

const methods = [
  'inline.see',
  'worker.see',
  'inline.later',
  'worker.later',
  'inline.see',
  'worker.see',
];

interface Seen {
  readonly n: number;
  readonly esm: number;
  readonly cjs: number;
}

interface Reply {
  readonly id: number;
  readonly result?: Seen;
  readonly error?: { readonly code: number };
}

/** Calls from several clients, all the time, while the modules are changed and reloaded again and again. */
export async function reloadUnderLoad(
  folder: string,
  { reloads, clients }: { reloads: number; clients: number },
): Promise<ReloadReport> {
  mkdirSync(folder, { recursive: true });
  const journal = join(folder, 'journal');
  const violations: string[] = [];
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const writeVersion = (version: number): void => {
    write('esm-two.mjs', `export const two = ${version};`);
    write('cjs-two.cjs', `module.exports = ${version};`);
  };
  write('journal', '');
  write('module.mjs', moduleText);
  write('esm-one.mjs', "export { two as esm } from './esm-two.mjs';");
  write('cjs-one.cjs', "module.exports = require('./cjs-two.cjs');");
  writeVersion(0);
  const dispatcher = new Dispatcher({
    modules: [join(folder, 'module.mjs')],
    workers: 1,
    spareWorkers: 0,
    ...patience,
    logLevel: 'silent',
  });
  await dispatcher.ready();

  let calls = 0;
  let answered = 0;
  let written = 0;
  let served = 0;
  let over = false;
  const callBatch = async (): Promise<void> => {
    const ids = methods.map(() => calls++);
    const oldest = served;
    const batch = ids.map((n, i) => ({ id: n, method: methods[i], params: { n, journal } }));
    const replies = (await dispatcher.dispatch(batch)) as Reply[];
    answered += replies.length;
    if (replies.map(({ id }) => id).join() !== ids.join()) violations.push(`ids of ${ids.join()}`);
    const versions = new Set<number | undefined>();
    for (const { id, result, error } of replies) {
      if (error !== undefined) violations.push(`call ${id}: ${error.code}`);
      if (error === undefined && result?.n !== id) violations.push(`call ${id} crossed`);
      versions.add(result?.esm);
      versions.add(result?.cjs);
    }
    const [version = -1] = versions;
    if (versions.size !== 1) violations.push(`a batch saw ${[...versions].join(' and ')}`);
    if (version < oldest || version > written) violations.push(`${version} after ${oldest}`);
  };
  const client = async (): Promise<void> => {
    while (!over) {
      await callBatch();
      // Calls now and then are what is wanted, not a benchmark.
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  };
  const reload = async (): Promise<void> => {
    writeVersion(++written);
    if (!(await dispatcher.reload())) violations.push(`reload ${written} was none`);
    served = written;
    await callBatch();
  };
  /** @param most threads that may be left: the old generation ends in its own time, on a busy machine late */
  const measure = async (most: number): Promise<{ rss: number; heap: number; threads: number }> => {
    let threads = Number.POSITIVE_INFINITY;
    for (let looks = 0, same = 0; same < 20 || (threads > most && looks < 3000); looks++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      const now = readdirSync('/proc/self/task').length;
      same = now === threads ? same + 1 : 0;
      threads = now;
    }
    for (let i = 0; i < 3; i++) globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    return { rss, heap: heapUsed, threads };
  };

  // What the first reloads leave is what is loaded and compiled once.
  const warmUp = Math.ceil(reloads / 5);
  const rounds = async (count: number): Promise<void> => {
    over = false;
    const running = Array.from({ length: clients }, client);
    for (let i = 0; i < count; i++) await reload();
    over = true;
    await Promise.all(running);
  };
  await rounds(warmUp);
  const before = await measure(Number.POSITIVE_INFINITY);
  await rounds(reloads - warmUp);
  const after = await measure(before.threads);
  await dispatcher.close();
  appendFileSync(journal, '');
  const executed = readFileSync(journal, 'utf8').split('\n').slice(0, -1);
  if (new Set(executed).size !== executed.length) violations.push('a call ran twice');
  const megabytes = (bytes: number): number => Math.round(bytes / 1024 ** 2);
  return {
    reloads,
    calls,
    answered,
    executed: executed.length,
    violations,
    threadsBefore: before.threads,
    threadsAfter: after.threads,
    rssBeforeMb: megabytes(before.rss),
    rssAfterMb: megabytes(after.rss),
    heapPerReloadKb: Math.round((after.heap - before.heap) / 1024 / (reloads - warmUp)),
  };
}

/** Nothing was lost, doubled or left behind. */
export function assertSound(report: ReloadReport): void {
  assert.deepEqual(report.violations, []);
  assert.equal(report.answered, report.calls, 'exactly one answer for every id');
  assert.equal(report.executed, report.calls, 'each call ran exactly once');
  assert.ok(report.threadsAfter <= report.threadsBefore, 'threads of old generations are left');
}
