import type { Writable } from 'node:stream';
import { noteLostOutput } from '../observe/lost-output.ts';

/** Bytes that wait for a reader who has fallen behind; what comes on top is lost. */
const mostWaiting = 1024 * 1024;

/**
 * Makes what is written to stdout and stderr harmless to a service, from procedures in workers too: their threads
 * write through this one. A reader that has gone (`| head -1`), a full disk, a reader that stands still: the output is
 * lost and counted, the process goes on, and its memory does not grow.
 */
export function makeOutputLossy(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', noteLostOutput);
    loseWhatFails(stream);
    loseWhatIsTooMuch(stream);
  }
}

type Done = (error?: Error | null) => void;

/**
 * A stream that fails is destroyed, and the streams of worker threads that lead into it are cut off and fill the
 * threads' memory. So its writes do not fail.
 */
function loseWhatFails(stream: Writable): void {
  const write = stream._write.bind(stream);
  const lossy =
    (done: Done): Done =>
    (error) => {
      if (error) noteLostOutput();
      done();
    };
  stream._write = (chunk, encoding, done) =>
    attempt(lossy(done), (end) => write(chunk, encoding, end));
  const writev = stream._writev?.bind(stream);
  if (writev === undefined) return;
  stream._writev = (chunks, done) => attempt(lossy(done), (end) => writev(chunks, end));
}

function attempt(done: Done, write: (done: Done) => void): void {
  try {
    write(done);
  } catch (error) {
    // A file is written at once, and its error thrown.
    done(error as Error);
  }
}

function loseWhatIsTooMuch(stream: Writable): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  // All its forms: (chunk, callback), (chunk, encoding, callback).
  const lossy = (...args: unknown[]): boolean => {
    // Always true: who is told to wait would wait for ever, and keep what it has.
    if (stream.writableLength < mostWaiting) {
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
