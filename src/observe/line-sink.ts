import { writeSync } from 'node:fs';
import { clockMs } from '../base/clock.ts';
import { noteLostOutput } from './lost-output.ts';

/** How long a line may hold up its thread when the reader of the log has fallen behind. After that the line is lost. */
const patienceMs = 100;
const pauseMs = 5;

const nobody = new Int32Array(new SharedArrayBuffer(4));

/**
 * Returns a function that writes a line to a file synchronously, so that the last line before a crash is written.
 * It never throws: when nobody reads the log any more (a closed pipe) or it can't grow (a full disk), its lines are
 * lost and nothing else. When the reader stands still, the first line waits up to 100 ms; the next lines do not wait
 * until one gets through again.
 *
 * @param fd file descriptor; 2 is stderr. A pipe may be non-blocking: reading `process.stderr` once makes it so
 */
export function createLineSink(fd: number): (line: string) => void {
  let isStalled = false;
  /** The last line was written only in part. */
  let isTorn = false;
  return (line) => {
    const whole = Buffer.from(isTorn ? `\n${line}` : line);
    const giveUpAt = isStalled ? 0 : clockMs() + patienceMs;
    let written = 0;
    while (written < whole.length) {
      try {
        written += writeSync(fd, whole, written);
      } catch (error) {
        const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
        if (isFull && clockMs() < giveUpAt) {
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
