import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/base/message-of.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { byFunction, joinThreads, type Profile } from '../../extras/insight/analysis.ts';
import type { Answer, KeptProfile } from '../../server/process/orders.ts';

/**
 * Makes `folder`: before the service is asked, since a minute later would be too late.
 *
 * @returns writes a file `.cpuprofile` for each thread of a profile into the folder
 */
export async function keepIn(folder: string): Promise<(taken: Answer) => Promise<Answer>> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new StartupError(`--out ${folder}: ${messageOf(error)}`, { cause: error });
  }
  return async (taken) => {
    if (taken.error !== undefined) return taken;
    const answer = await keep(folder, taken.process, taken.answer as Profile);
    return { ...taken, answer };
  };
}

async function keep(folder: string, process: number, taken: Profile): Promise<KeptProfile> {
  const threads = await Promise.all(
    taken.threads.map(async (thread) => {
      if ('error' in thread) return thread;
      const { name, threadId, profile } = thread;
      const file = join(folder, `process-${process}-${name}.cpuprofile`);
      // Profiles name files and functions.
      await writeFile(file, profile, { mode: 0o600 });
      return { name, threadId, file };
    }),
  );
  return { threads, functions: byFunction(joinThreads(taken.threads)) };
}
