/** Newline-delimited JSON-RPC over a pair of streams: the part that stdio.ts and tcp.ts share. */
import { setMaxListeners } from 'node:events';
import type { Readable, Writable } from 'node:stream';

export interface LineOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Answers one line; undefined: nothing to reply. Never rejects. */
  readonly answer: (line: Uint8Array, signal: AbortSignal) => Promise<string | undefined>;
  /** A longer line is refused and skipped, without being held in memory. */
  readonly maxLineBytes: number;
  /** Lines that are worked on at once; the rest waits unread in the stream. */
  readonly maxInFlight: number;
}

export interface LineService {
  /** Settles when the input has ended and every reply is written, or the other side has gone. */
  readonly done: Promise<void>;
  /** Reads no further line; those read already are answered. */
  stop(): void;
}

const newline = 0x0a;

/** Cuts chunks at newlines. `undefined` stands for a line that was too long. */
function lineSplitter(maxBytes: number) {
  let parts: Uint8Array[] = [];
  let size = 0;
  function take(): Uint8Array | undefined {
    // A copy of its own: the dispatcher may transfer these bytes to a worker.
    const line = size > maxBytes ? undefined : new Uint8Array(size);
    let offset = 0;
    for (const part of parts) {
      line?.set(part, offset);
      offset += part.length;
    }
    parts = [];
    size = 0;
    return line;
  }
  return {
    *split(chunk: Uint8Array) {
      for (let start = 0; start < chunk.length; ) {
        const end = chunk.indexOf(newline, start);
        const part = chunk.subarray(start, end === -1 ? chunk.length : end);
        size += part.length;
        if (size > maxBytes) parts = [];
        else parts.push(part);
        if (end === -1) return;
        yield take();
        start = end + 1;
      }
    },
    /** The last line, where no newline ends it. */
    *rest() {
      if (size > 0) yield take();
    },
  };
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function tooLong(limit: number): string {
  const error = { code: -32004, message: 'Limit exceeded', data: { limit } };
  return JSON.stringify({ jsonrpc: '2.0', id: null, error });
}

/**
 * Answers each line of `input` on `output`; replies leave in the order in which their calls end. Where
 * the other side does not read them, no further line is read.
 */
export function serveLines(options: LineOptions): LineService {
  const { input, output, answer, maxLineBytes, maxInFlight } = options;
  const splitter = lineSplitter(maxLineBytes);
  const gone = new AbortController();
  setMaxListeners(maxInFlight, gone.signal); // each line that is worked on listens
  let waiting: (Uint8Array | undefined)[] = [];
  let inFlight = 0;
  let ended = false;
  let settle = () => {};
  const done = new Promise<void>((resolve) => {
    settle = resolve;
  });

  function write(reply: string | undefined): void {
    if (reply !== undefined && !gone.signal.aborted) output.write(`${reply}\n`);
  }
  async function run(line: Uint8Array): Promise<void> {
    inFlight += 1;
    write(await answer(line, gone.signal));
    inFlight -= 1;
    pump();
  }
  function pump(): void {
    while (waiting.length > 0 && inFlight < maxInFlight && !output.writableNeedDrain) {
      const line = waiting.shift();
      if (line === undefined) write(tooLong(maxLineBytes));
      else if (!isBlank(line)) void run(line);
    }
    if (waiting.length > 0 || inFlight >= maxInFlight || output.writableNeedDrain) input.pause();
    else if (!ended) input.resume();
    else if (inFlight === 0) settle();
  }
  function read(chunk: Uint8Array): void {
    waiting.push(...splitter.split(chunk));
    pump();
  }
  function stop(): void {
    ended = true;
    input.off('data', read);
    pump();
  }
  function leave(): void {
    if (gone.signal.aborted) return;
    gone.abort();
    waiting = [];
    stop();
    input.destroy();
  }

  input.on('data', read);
  input.on('end', () => {
    waiting.push(...splitter.rest());
    stop();
  });
  input.on('error', leave);
  output.on('drain', pump);
  output.on('error', leave);
  output.on('close', leave);
  return { done, stop };
}
