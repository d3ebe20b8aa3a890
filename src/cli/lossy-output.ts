import type { Writable } from 'node:stream';
import { noteLostOutput } from '../core/observe/log.ts';

/** Most bytes that wait for a slow reader. Further output is lost. */
const maxWaiting = 1024 * 1024;

/**
 * Keeps trouble with stdout and stderr from harming the service. If the reader has gone (`| head -1`), the disk is
 * full or the reader stands still, output is lost and counted: the process goes on, and its memory does not grow. The
 * threads of workers write through this thread, so their output is covered too.
 *
 * @param streams stdout and stderr, unless one of them carries more than a person reads
 */
export function makeOutputLossy(
  streams: readonly Writable[] = [process.stdout, process.stderr],
): void {
  for (const stream of streams) {
    stream.on('error', noteLostOutput);
    loseWhatFails(stream);
    loseWhatIsTooMuch(stream);
  }
}

type Done = (error?: Error | null) => void;

/**
 * Makes writes succeed even if the output fails. A stream whose write fails is destroyed. The streams of worker
 * threads that lead into it would then be cut off, and would fill the threads' memory.
 */
function loseWhatFails(stream: Writable): void {
  const lossily = (write: (done: Done) => void, done: Done): void => {
    const end: Done = (error) => {
      if (error) noteLostOutput();
      done();
    };
    try {
      write(end);
    } catch (error) {
      // A write to a file is synchronous and throws its error.
      end(error as Error);
    }
  };
  const write = stream._write.bind(stream);
  stream._write = (chunk, encoding, done) => lossily((end) => write(chunk, encoding, end), done);
  const writev = stream._writev?.bind(stream);
  if (writev === undefined) return;
  stream._writev = (chunks, done) => lossily((end) => writev(chunks, end), done);
}

function loseWhatIsTooMuch(stream: Writable): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  // All forms of the call: (chunk, callback), (chunk, encoding, callback).
  const lossy = (...args: unknown[]): boolean => {
    // Always true: a writer that is told to wait would wait for ever, and keep its output in memory.
    if (stream.writableLength < maxWaiting) {
      write(...args);
      return true;
    }
    noteLostOutput();
    const done = args.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
  stream.write = lossy as typeof stream.write;
}
