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
 * MCP over a pair of streams, one message a line. Answers leave as their calls end. If the other side does not read them, no
 * further line is read.
 */
export class LineService {
  /** Resolves when the input has ended and every answer is written, or when the other side has gone. */
  readonly done: Promise<void>;
  /** Resolves when no further line comes. */
  readonly ended: Promise<void>;
  readonly #options: LineOptions;
  /** The line that has not come whole. A line that is too long is not kept. */
  #parts: Uint8Array[] = [];
  #size = 0;
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
    for (let start = 0; start < chunk.length; ) {
      const end = chunk.indexOf(newline, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      this.#size += part.length;
      if (this.#size > this.#options.maxBodyBytes) this.#parts = [];
      else this.#parts.push(part);
      if (end === -1) break;
      this.#endLine();
      start = end + 1;
    }
    this.#pump();
  };

  constructor(options: LineOptions) {
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#tellEnded = resolve;
    });
    const { input, output } = options;
    input.on('data', this.#onData);
    input.on('end', () => {
      if (this.#size > 0) this.#endLine();
      this.stop();
    });
    const leave = (): void => this.#leave();
    input.on('error', leave);
    output.on('error', leave);
    output.on('close', leave);
    output.on('drain', () => {
      for (const taken of this.#blocked.splice(0)) taken();
      this.#pump();
    });
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

  #endLine(): void {
    const isTooLong = this.#size > this.#options.maxBodyBytes;
    this.#waiting.push(isTooLong ? undefined : Buffer.concat(this.#parts));
    this.#parts = [];
    this.#size = 0;
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
    const { service, server, authText, maxBodyBytes } = this.#options;
    if (line === undefined) {
      const limit = { limit: maxBodyBytes };
      this.#write(errorText(undefined, McpCode.InvalidRequest, 'a message is too long', limit));
      return;
    }
    if (line.every(isBlank)) return;
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
      outlet: (text, taken) => this.#note(scope, text, taken),
      begin: (own) => {
        id = own;
        this.#open.set(own, scope);
      },
      cancel: (other) => this.#open.get(other)?.cancel(),
    };
    const onReply = (answer: McpAnswer): void => {
      body.release();
      this.#scopes.delete(scope);
      if (id !== undefined && this.#open.get(id) === scope) this.#open.delete(id);
      this.#inFlight--;
      // Nothing more is said of what was cancelled.
      if (answer !== undefined && !scope.cancelled) {
        this.#write(isFault(answer) ? answer.text : answer);
      }
      // Not in the middle of whatever gave the answer: the next line is no part of its work.
      queueMicrotask(() => this.#pump());
    };
    body.add(line);
    server.handle(body.end(), scope, client, { onReply });
  }

  #note(scope: RequestScope, text: string, taken: () => void): void {
    if (!scope.cancelled) this.#write(text);
    if (this.#options.output.writableNeedDrain) this.#blocked.push(taken);
    else taken();
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

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

const newline = 0x0a;
