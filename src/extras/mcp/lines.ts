import type { Readable, Writable } from 'node:stream';
import { RequestBody } from '../../core/dispatch/body-memory.ts';
import { overloaded } from '../../core/dispatch/call.ts';
import { RequestScope } from '../../core/dispatch/scope.ts';
import type { Service } from '../../core/dispatch/service.ts';
import type { McpClient } from './message.ts';
import { errorText, isFault, type McpAnswer, McpCode } from './protocol.ts';
import type { McpServer } from './server.ts';

export interface LineOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly service: Service;
  readonly server: McpServer;
  /** JSON text of `context.auth`; undefined: nothing is known of the caller. */
  readonly authText: string | undefined;
  /** A longer line is refused, without being kept. */
  readonly maxBodyBytes: number;
  /** Lines that are worked on at a time; the rest waits unread. */
  readonly maxCalls: number;
}

/**
 * MCP over a pair of streams, one message a line. Answers leave as their calls end. Where the other side does not read them,
 * no further line is read.
 */
export class LineService {
  /** Resolves when the input has ended and every answer is written, or when the other side has gone. */
  readonly done: Promise<void>;
  /** Resolves when no further line comes. */
  readonly ended: Promise<void>;
  readonly #options: LineOptions;
  readonly #splitter: LineSplitter;
  /** Lines that were read and not begun; undefined: one that was too long. */
  #waiting: (Uint8Array | undefined)[] = [];
  /** Requests that are worked on, by the JSON text of their id. */
  readonly #open = new Map<string, RequestScope>();
  readonly #scopes = new Set<RequestScope>();
  #inFlight = 0;
  #hasEnded = false;
  #isGone = false;
  #isPumping = false;
  #settle: () => void = () => {};
  #tellEnded: () => void = () => {};
  /** Called when the output has room again. */
  #blocked: (() => void)[] = [];
  readonly #onData = (chunk: Uint8Array): void => {
    for (const line of this.#splitter.split(chunk)) this.#waiting.push(line);
    this.#pump();
  };

  constructor(options: LineOptions) {
    this.#options = options;
    this.#splitter = new LineSplitter(options.maxBodyBytes);
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#tellEnded = resolve;
    });
    const { input, output } = options;
    input.on('data', this.#onData);
    input.on('end', () => {
      for (const line of this.#splitter.rest()) this.#waiting.push(line);
      this.stop();
    });
    const leave = (): void => this.#leave();
    input.on('error', leave);
    output.on('error', leave);
    output.on('close', leave);
    output.on('drain', () => this.#onDrain());
  }

  /** Reads no further line; those that were read are answered. Idempotent. */
  stop(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#tellEnded();
    this.#options.input.off('data', this.#onData);
    this.#options.input.pause();
    this.#pump();
  }

  /** The other side has gone: nobody waits for an answer. */
  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#waiting = [];
    for (const scope of this.#scopes) scope.cancel();
    this.stop();
    this.#settle();
  }

  #pump(): void {
    // A line that is answered at once comes back here.
    if (this.#isPumping) return;
    const { input, output, maxCalls } = this.#options;
    this.#isPumping = true;
    while (this.#waiting.length > 0 && this.#inFlight < maxCalls && !output.writableNeedDrain) {
      this.#take(this.#waiting.shift());
    }
    this.#isPumping = false;
    const isFull = this.#inFlight >= maxCalls || output.writableNeedDrain;
    if (this.#hasEnded) {
      if (this.#waiting.length === 0 && this.#inFlight === 0) this.#settle();
    } else if (this.#waiting.length > 0 || isFull) input.pause();
    else input.resume();
  }

  #take(line: Uint8Array | undefined): void {
    if (line === undefined) {
      const { maxBodyBytes } = this.#options;
      this.#write(
        errorText(undefined, McpCode.InvalidRequest, 'a message is too long', {
          limit: maxBodyBytes,
        }),
      );
    } else if (!line.every(isBlank)) {
      this.#answer(line);
    }
  }

  #answer(line: Uint8Array): void {
    const { service, server, authText } = this.#options;
    const scope = new RequestScope();
    scope.authText = authText;
    const body = RequestBody.reserve(service.bodyMemory, line.byteLength, scope);
    if (typeof body === 'string') {
      const { code, data } = overloaded(body);
      const told = { code, ...data };
      this.#write(errorText(undefined, McpCode.InternalError, 'no memory for a message now', told));
      return;
    }
    scope.body = body.lease;
    this.#scopes.add(scope);
    this.#inFlight++;
    let id: string | undefined;
    const client: McpClient = {
      head: undefined,
      events: undefined,
      outlet: { send: (text, taken) => this.#note(scope, text, taken) },
      begin: (own) => {
        id = own;
        this.#open.set(own, scope);
      },
      cancel: (other) => this.#open.get(other)?.cancel(),
    };
    const settle = (answer: McpAnswer): void => {
      body.release();
      this.#scopes.delete(scope);
      if (id !== undefined && this.#open.get(id) === scope) this.#open.delete(id);
      this.#inFlight--;
      // Nothing more is said of what was cancelled.
      if (answer !== undefined && !scope.cancelled) this.#write(toLine(answer));
      this.#pump();
    };
    const answer = server.handle(body.add(line) ?? line, scope, client);
    if (answer instanceof Promise) void answer.then(settle);
    else settle(answer);
  }

  #note(scope: RequestScope, text: string, taken: () => void): void {
    if (!scope.cancelled) this.#write(text);
    if (this.#options.output.writableNeedDrain) this.#blocked.push(taken);
    else taken();
  }

  #onDrain(): void {
    const blocked = this.#blocked;
    this.#blocked = [];
    for (const taken of blocked) taken();
    this.#pump();
  }

  #write(line: string | Uint8Array): void {
    if (this.#isGone) return;
    const { output } = this.#options;
    if (typeof line === 'string') {
      output.write(`${line}\n`);
      return;
    }
    output.write(line);
    output.write('\n');
  }
}

function toLine(answer: Exclude<McpAnswer, undefined>): string | Uint8Array {
  return isFault(answer) ? answer.text : answer;
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

const newline = 0x0a;

/**
 * Cuts chunks at newlines. A line that is too long is not kept: `undefined` stands for it.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end within a chunk, in order. */
  *split(chunk: Uint8Array): Generator<Uint8Array | undefined> {
    for (let start = 0; start < chunk.length; ) {
      const end = chunk.indexOf(newline, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      this.#size += part.length;
      if (this.#size > this.#maxBytes) this.#parts = [];
      else this.#parts.push(part);
      if (end === -1) return;
      yield this.#take();
      start = end + 1;
    }
  }

  /** The last line, where no newline ends it. */
  *rest(): Generator<Uint8Array | undefined> {
    if (this.#size > 0) yield this.#take();
  }

  #take(): Uint8Array | undefined {
    const line = this.#size > this.#maxBytes ? undefined : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    return line;
  }
}
