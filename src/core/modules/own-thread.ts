import { Worker } from 'node:worker_threads';
import { ownExtension, ownFile } from '../base/package-files.ts';
import { workerExecArgv } from './typescript.ts';

/**
 * Starts a thread of this package's own, which loads Node and one file: nothing that flags or NODE_OPTIONS load into other threads. It
 * takes 10 MB, and keeps no process alive.
 *
 * @param path of a file that imports types only, from the package's folder
 */
export function startOwnThread(path: `${string}.ts`, workerData?: unknown): Worker {
  const file = ownFile(path);
  const isSource = ownExtension === '.ts';
  // Node 20 takes TypeScript in a thread only from an import.
  const importing = `import ${JSON.stringify(file.href)}`;
  const start = new URL(`data:text/javascript,${encodeURIComponent(importing)}`);
  const thread = new Worker(isSource ? start : file, {
    workerData,
    execArgv: isSource ? workerExecArgv([]) : [],
    env: {},
    resourceLimits: {
      maxOldGenerationSizeMb: 16,
      maxYoungGenerationSizeMb: 1,
      codeRangeSizeMb: 2,
    },
  });
  thread.unref();
  return thread;
}
