import { writeSync } from 'node:fs';
import { noteLostOutput } from './lost-output.ts';

/** How long a line may hold up its thread where the reader has fallen behind: then it is lost. */
const patienceMs = 100;
const pauseMs = 5;

const nobody = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes lines to a file at once, so that the last one before a crash is there. It never throws: a log that nobody
 * reads any more (a closed pipe), or that can't grow (a full disk), loses its lines and nothing else. Where the reader
 * stands still, the first line waits for it a little, the next ones not at all until one gets through again.
 *
 * @param fd 2: stderr. It may be a pipe that does not block: Node makes it one as soon as somebody looks at process.stderr
 */
export function createLineSink(fd: number): (line: string) => void {
  let isStalled = false;
  /** Some of a line was written, not its end. */
  let isTorn = false;
  return (line) => {
    const whole = Buffer.from(isTorn ? `\n${line}` : line);
    const giveUpAt = isStalled ? 0 : performance.now() + patienceMs;
    let written = 0;
    while (written < whole.length) {
      try {
        written += writeSync(fd, whole, written);
      } catch (error) {
        const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
        if (isFull && performance.now() < giveUpAt) {
          Atomics.wait(nobody, 0, 0, pauseMs);
          continue;
        }
        isStalled = isFull;
        isTorn ||= written > 0;
        noteLostOutput();
        return;
      }
    }
    isStalled = false;
    isTorn = false;
  };
}
