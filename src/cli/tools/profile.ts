import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { escapeControls } from '../../core/base/escape.ts';
import { messageOf } from '../../core/base/message-of.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import {
  byFunction,
  joinThreads,
  type Profile,
  type ProfileRow,
} from '../../extras/insight/analysis.ts';
import { printAndExit } from '../exit.ts';
import { ask } from './admin.ts';

/** Functions that are printed. The files have all of them. */
const mostFunctions = 20;

/** What is told of one process. */
interface Told {
  readonly process: number;
  readonly pid: number;
  /** Why there is no profile. */
  readonly error?: string;
  readonly threads?: readonly {
    readonly name: string;
    readonly threadId: number;
    readonly file?: string;
    readonly error?: string;
  }[];
  /** Their `self` add up to all samples. */
  readonly functions?: readonly ProfileRow[];
}

/**
 * `tandem profile`
 *
 * @param folder gets a file `.cpuprofile` for each thread
 */
export async function profile(
  path: string,
  { seconds, intervalMs }: { readonly seconds: number; readonly intervalMs: number },
  folder: string,
  asJson: boolean,
): Promise<void> {
  // Before the service is asked: a minute later would be too late.
  await makeFolder(folder);
  const answers = await ask(path, { order: 'profile', seconds, intervalMs });
  const told: Told[] = [];
  for (const { process, pid, answer, error } of answers) {
    if (error === undefined) told.push(await keep(folder, process, pid, answer as Profile));
    else told.push({ process, pid, error });
  }
  const text = asJson
    ? JSON.stringify(told, undefined, 2)
    : told.flatMap(textOf).map(escapeControls).join('\n');
  const failed = told.some(({ error }) => error !== undefined);
  await printAndExit(`${text}\n`, failed ? 1 : 0);
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new StartupError(`--out ${folder}: ${messageOf(error)}`, { cause: error });
  }
}

async function keep(folder: string, process: number, pid: number, taken: Profile): Promise<Told> {
  const threads: NonNullable<Told['threads']>[number][] = [];
  for (const thread of taken.threads) {
    const { name, threadId } = thread;
    if ('error' in thread) {
      threads.push({ name, threadId, error: thread.error });
      continue;
    }
    const file = join(folder, `process-${process}-${name}.cpuprofile`);
    // Profiles name files and functions.
    await writeFile(file, thread.profile, { mode: 0o600 });
    threads.push({ name, threadId, file });
  }
  return { process, pid, threads, functions: byFunction(joinThreads(taken.threads)) };
}

function textOf({ process, pid, error, threads = [], functions = [] }: Told): string[] {
  const head = `process ${process} (pid ${pid})`;
  if (error !== undefined) return [head, `  failed: ${error}`];
  const samples = functions.reduce((sum, { self }) => sum + self, 0);
  return [
    head,
    ...threads.map(
      ({ name, file, error: failure }) => `  ${name}: ${file ?? `failed: ${failure}`}`,
    ),
    `  ${samples} samples by function`,
    ...functions.slice(0, mostFunctions).map(({ name, place, self, total }) => {
      const share = (part: number): string => `${((part / samples) * 100).toFixed(1)}%`.padStart(7);
      return `  ${share(self)} ${share(total)}  ${name}${place === '' ? '' : `  ${place}`}`;
    }),
  ];
}
