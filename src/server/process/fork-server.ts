import { ChildProcess, fork } from 'node:child_process';
import type { Readable } from 'node:stream';
import { ownFile } from '../../core/base/package-files.ts';

/**
 * Settings of glibc's malloc, which reads them when a process starts; the process's own environment goes before.
 *
 * Without them malloc raises, with each large block that is freed, the size from which on it gives blocks back to the
 * system, up to 32 MB. Bodies of megabytes, and the strings made of them, then lie in one heap with everything else, and malloc
 * keeps the holes that they leave. After 200,000 calls, 200 of them with bodies of 5 to 9 MB, a server at rest held 580 MB in holes.
 */
export const mallocSettings: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: String(1024 ** 2),
  MALLOC_TRIM_THRESHOLD_: String(4 * 1024 ** 2),
};

/** Milliseconds that a process may have beyond a short grace, as long as it gives signs of life. */
export const endingMs = 5000;

/** The file by which the guard of a server process tells the supervisor: the first one after the channel's. */
export const guardFile = 4;

/**
 * Starts a process that loads the code of a server, and waits for its order. If the system refuses, the result has no `pid` and
 * emits `error`. Node throws some refusals (ENOMEM), and emits others (EMFILE).
 */
export function forkServer(): ChildProcess {
  try {
    // Modules see the arguments that they see without a supervisor. Two inspectors can't share a port.
    return fork(ownFile('src/cli/child-main.ts'), process.argv.slice(2), {
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
      env: { ...mallocSettings, ...process.env },
      serialization: 'advanced',
      stdio: ['inherit', 'inherit', 'inherit', 'ipc', 'pipe'],
    });
  } catch (error) {
    const child = new ChildProcess();
    process.nextTick(() => child.emit('error', error));
    return child;
  }
}

let ahead: ChildProcess | undefined;

/**
 * Starts the first server process before this one knows its order: the two then load their code at the same time, which is a
 * fifth of the time to the first answer. The process ends by itself if this one ends without an order for it.
 */
export function forkAhead(): void {
  ahead = forkServer();
  // Whoever takes it starts another one, and reports the error of that one.
  ahead.on('error', () => {});
  if (ahead.pid === undefined) return;
  ahead.unref();
  ahead.channel?.unref();
  guardOf(ahead)?.unref();
}

/** The process that `forkAhead` started, once; undefined if there is none, or it has ended. */
export function takeAhead(): ChildProcess | undefined {
  const child = ahead;
  ahead = undefined;
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  child.channel?.ref();
  guardOf(child)?.ref();
  return child;
}

/** What the guard of a server process writes. Procedures can write there, too. undefined: the process could not be started. */
export function guardOf(child: Partial<ChildProcess>): (Readable & RefCounted) | undefined {
  return child.stdio?.[guardFile] as (Readable & RefCounted) | undefined;
}

/** A pipe of a child process is a socket, though its type does not say so. */
interface RefCounted {
  ref(): void;
  unref(): void;
}
