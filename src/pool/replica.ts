import { performance } from 'node:perf_hooks';
import type { MessagePort } from 'node:worker_threads';
import { ErrorCode, standardError } from '../jsonrpc/errors.ts';
import { cappedReply, type Outcome } from '../jsonrpc/reply.ts';
import { type InvokeOptions, invoke } from '../router/invoke.ts';
import { LazyContext } from '../router/lazy-context.ts';
import type { Procedure } from '../router/types.ts';
import type { Ledger } from './ledger.ts';
import { readParams } from './params.ts';
import {
  type Command,
  entryLength,
  type Frame,
  field,
  largeText,
  type Notice,
  type ReplicaOptions,
  type ResultMessage,
} from './wire.ts';

interface Finished {
  readonly code: number;
  /** '' for a notification. */
  readonly reply: string;
}

/** The worker's side of the pool: runs the calls of the frames it gets and posts each result as it ends. */
export class Replica {
  readonly #port: MessagePort;
  readonly #ledger: Ledger;
  readonly #table: ReadonlyMap<string, Procedure>;
  readonly #options: ReplicaOptions;
  readonly #invokeOptions: InvokeOptions;
  /** The contexts of calls that wait, by ticket: an abort finds them here. */
  readonly #waiting = new Map<number, LazyContext>();

  constructor(
    port: MessagePort,
    ledger: Ledger,
    table: ReadonlyMap<string, Procedure>,
    options: ReplicaOptions,
  ) {
    this.#port = port;
    this.#ledger = ledger;
    this.#table = table;
    this.#options = options;
    this.#invokeOptions = {
      checkResults: options.checkResults,
      onFault: (fault) => this.notify({ type: 'fault', fault }),
    };
  }

  notify(notice: Notice): void {
    this.#port.postMessage(notice);
  }

  run(frame: Frame): void {
    let waits = false;
    for (let at = 0; at < frame.length; ) {
      let end = at + entryLength;
      while (end < frame.length && field(frame, end, 'follows') === 1) end += entryLength;
      if (this.#runChain(frame, at, end) !== undefined) waits = true;
      at = end;
    }
    // The front end reckons with a call until its result; one that waits must not count as work.
    if (waits) {
      const lastTicket = field(frame, frame.length - entryLength, 'ticket');
      this.notify({ type: 'idle', lastTicket });
    }
  }

  abort(command: Extract<Command, { type: 'abort' }>): void {
    const code = command.reason === 'cancelled' ? ErrorCode.Cancelled : ErrorCode.DeadlineExceeded;
    this.#waiting.get(command.ticket)?.abort(standardError(code));
    // Said last: a listener of the signal that never returns is a stuck thread.
    this.notify({ type: 'aborted', ticket: command.ticket });
  }

  /** Runs calls one after another; a promise where one of them waits. */
  #runChain(frame: Frame, start: number, end: number): Promise<void> | undefined {
    for (let at = start; at < end; at += entryLength) {
      const now = Date.now();
      // Taken back: it runs elsewhere, and what follows runs behind it there, even if not taken back yet.
      if (!this.#ledger.start(field(frame, at, 'ticket'), now)) return undefined;
      const pending = this.#runCall(frame, at, now);
      if (pending !== undefined) {
        const rest = at + entryLength;
        return pending.then(() => this.#runChain(frame, rest, end));
      }
    }
    return undefined;
  }

  #runCall(frame: Frame, at: number, now: number): Promise<void> | undefined {
    const ticket = field(frame, at, 'ticket');
    const began = performance.now();
    const finished = this.#call(frame, at, now);
    this.#ledger.leave();
    const micros = (performance.now() - began) * 1000;
    if (!(finished instanceof Promise)) {
      this.#post(ticket, finished, micros);
      return undefined;
    }
    return finished.then((value) => {
      this.#waiting.delete(ticket);
      this.#post(ticket, value, micros);
    });
  }

  #call(frame: Frame, at: number, now: number): Finished | Promise<Finished> {
    const method = field(frame, at, 'method');
    const procedure = this.#table.get(method);
    // Both sides hold the same registry (the fingerprint said so), so this names a defect, not a typo.
    if (procedure === undefined) throw new Error(`replica without procedure ${method}`);
    const read = readParams(frame, at, this.#options);
    if (read.reply !== undefined) return { code: ErrorCode.ParseError, reply: read.reply };
    const expiresAt = field(frame, at, 'expiresAt');
    const deadline = Math.min(now + field(frame, at, 'timeoutMs'), expiresAt);
    const context = new LazyContext(procedure, read.id, field(frame, at, 'facts'), deadline);
    const outcome = invoke(procedure, read.params, context, this.#invokeOptions);
    if (!(outcome instanceof Promise)) return this.#finish(read.id, outcome);
    this.#waiting.set(field(frame, at, 'ticket'), context);
    return outcome.then((value) => this.#finish(read.id, value));
  }

  #finish(id: string | undefined, outcome: Outcome): Finished {
    const reply = id === undefined ? '' : cappedReply(id, outcome, this.#options.maxReplyBytes);
    return { code: outcome.code, reply };
  }

  #post(ticket: number, finished: Finished, micros: number): void {
    const { code, reply } = finished;
    if (reply.length <= largeText) {
      const message: ResultMessage = [ticket, code, micros, reply];
      this.#port.postMessage(message);
      return;
    }
    const bytes = new TextEncoder().encode(reply);
    const message: ResultMessage = [ticket, code, micros, bytes];
    this.#port.postMessage(message, [bytes.buffer]);
  }
}
