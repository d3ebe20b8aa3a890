import assert from 'node:assert/strict';
import type { Place } from '../../../src/core/base/place.ts';
import { type Call, type CallObserver, unparsed } from '../../../src/core/dispatch/call.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import type { Fault } from '../../../src/core/procedures/fault.ts';
import { tableOf } from '../../../src/core/procedures/router.ts';
import type { Procedure } from '../../../src/core/procedures/types.ts';
import type { Reply, ReplySink } from '../../../src/core/protocol/reply.ts';
import { copies } from '../../fixtures/executors/batched.ts';
import { turn } from '../../turns.ts';
import { Board } from './board.ts';
import { Reader } from './reader.ts';
import type { Opened, Subject } from './subject.ts';

export const maxReplyBytes = 2000;

export type Method =
  | 'value'
  | 'later'
  | 'refused'
  | 'broken'
  | 'large'
  | 'hold'
  | 'untilAborted'
  | 'spin'
  | 'die';

/** Those that take many calls at once, and tell of it. */
export type BatchMethod =
  | 'together'
  | 'harmful'
  | 'endless'
  | 'deadly'
  | 'oneRun'
  | 'linked'
  | 'bytes';

/** Those that stream: they give so many values. */
export type StreamMethod =
  | 'counts'
  | 'ticks'
  | 'waits'
  | 'finishes'
  | 'refusesLater'
  | 'breaksLater'
  | 'growsLater'
  | 'opensNot'
  | 'spinsLater'
  | 'diesLater';

export interface Report {
  readonly code: number;
  readonly place: Place;
  readonly waitUs: number;
  readonly runUs: number;
  readonly busyUs: number;
  readonly reply: Reply;
  readonly together: number;
}

export interface CallOptions {
  readonly isNotification?: boolean;
  /** Milliseconds of its procedure; undefined: so many that they never pass. */
  readonly timeoutMs?: number;
  readonly scope?: RequestScope;
  /** Its params come as text that nobody has parsed. */
  readonly isUnparsed?: boolean;
  /** What a batch procedure does with it. */
  readonly act?: string;
}

/** A stream that was asked for, and its reader. */
export interface Streaming {
  readonly sent: Sent;
  readonly reader: Reader;
}

/** A call that was made up, and handed over. */
export class Sent {
  readonly tag: string;
  readonly call: Call;
  reply: Reply;
  isAnswered = false;
  /** Reports there were when the answer came. */
  reportsAtAnswer = 0;
  /** What was thrown, or rejected with. */
  failure: unknown;
  answered: Promise<void> = Promise.resolve();

  constructor(tag: string, call: Call) {
    this.tag = tag;
    this.call = call;
  }

  get scope(): RequestScope {
    return this.call.scope;
  }
}

let tags = 0;

/** An executor that is held to its contract, with what it reports and what its calls tell. */
export class Bench {
  readonly subject: Subject;
  readonly board = new Board();
  readonly faults: Fault[] = [];
  /** The runs of batch procedures, as they were reported: procedure and calls. */
  readonly runs: (readonly [procedure: string, calls: number])[] = [];
  readonly #reports = new Map<Procedure, Report[]>();
  readonly #ends = new Map<Procedure, number[]>();
  readonly #onReport = new Map<Procedure, () => void>();
  #opened: Opened | undefined;
  #copy = 0;

  private constructor(subject: Subject) {
    this.subject = subject;
  }

  static async open(subject: Subject): Promise<Bench> {
    const bench = new Bench(subject);
    bench.#opened = await subject.open({
      observer: bench.#observer(),
      maxReplyBytes,
      onFault: (fault) => bench.faults.push(fault),
    });
    return bench;
  }

  get opened(): Opened {
    assert.ok(this.#opened !== undefined);
    return this.#opened;
  }

  /** Closes the executor, and what listens. Whatever has not ended is lost. */
  async end(): Promise<void> {
    await this.opened.close(0);
    this.board.close();
  }

  /** From here on `together` and `oneRun` are procedures that have never run. */
  renew(): void {
    this.#copy++;
    assert.ok(this.#copy < copies, 'more copies are needed');
  }

  #nameOf(method: string): string {
    return method === 'together' || method === 'oneRun' ? `${method}${this.#copy}` : method;
  }

  make(method: Method | BatchMethod, { act, ...options }: CallOptions = {}): Sent {
    return this.#make(method, act === undefined ? {} : { act }, options);
  }

  /** Hands calls over in one turn of the event loop. */
  sendAll(method: BatchMethod, all: readonly CallOptions[]): Sent[] {
    return all.map((options) => this.send(method, options));
  }

  /**
   * Asks for a stream.
   *
   * @param n values that it gives
   * @param stallsAt values after which its reader reads no more
   */
  stream(
    method: StreamMethod,
    n: number,
    options: CallOptions & { readonly stallsAt?: number } = {},
  ): Streaming {
    const { tag, call } = this.#make(method, { n }, options);
    const reader = new Reader(tag, options.stallsAt);
    const sent = new Sent(tag, { ...call, sink: reader });
    this.execute(sent);
    return { sent, reader };
  }

  #make(method: Method | BatchMethod | StreamMethod, own: object, options: CallOptions): Sent {
    const tag = `t${tags++}`;
    const known = tableOf(this.subject.router).get(this.#nameOf(method));
    assert.ok(known !== undefined);
    // Of its own for each call: an executor may hold a call in another form, and keeps the procedure.
    const procedure = { ...known, timeoutMs: options.timeoutMs ?? known.timeoutMs };
    const params = method === 'bytes' ? {} : { tag, ...own };
    const text = JSON.stringify(params);
    const isText = options.isUnparsed === true || this.opened.executor.takesUnparsed;
    return new Sent(tag, {
      procedure,
      id: options.isNotification === true ? undefined : JSON.stringify(tag),
      params: isText ? unparsed : params,
      source: isText ? text : undefined,
      start: 0,
      end: isText ? text.length : 0,
      scope: options.scope ?? new RequestScope(),
    });
  }

  send(method: Method | BatchMethod, options: CallOptions = {}): Sent {
    const sent = this.make(method, options);
    this.execute(sent);
    return sent;
  }

  execute(sent: Sent): void {
    this.#hand([sent], (sink) =>
      this.opened.executor.execute(sent.call, { onReply: (reply) => sink.onReply([reply]) }),
    );
  }

  /** Calls of one request, one after another. */
  sendInOrder(sent: readonly Sent[]): void {
    const { executor } = this.opened;
    const calls = sent.map(({ call }) => call);
    this.#hand(sent, (sink) => executor.executeInOrder?.(calls, sink));
  }

  /** Notes what comes back of a hand-over, thrown things and second answers too. */
  #hand(sent: readonly Sent[], over: (sink: ReplySink<readonly Reply[]>) => void): void {
    const fail = (failure: unknown): void => {
      for (const one of sent) one.failure = failure;
    };
    const note = (replies: readonly Reply[]): void => {
      assert.equal(replies.length, sent.length, 'a reply for each call');
      for (const [i, one] of sent.entries()) {
        assert.ok(!one.isAnswered, 'an answer after the answer');
        one.reply = replies[i];
        one.isAnswered = true;
        one.reportsAtAnswer = this.reportsOf(one).length;
      }
    };
    const answered = new Promise<void>((resolve) => {
      const noting = (act: () => void): void => {
        try {
          act();
        } catch (failure) {
          fail(failure);
          resolve();
        }
      };
      const onReply = (replies: readonly Reply[]): void => {
        noting(() => note(replies));
        resolve();
      };
      noting(() => over({ onReply }));
    });
    for (const one of sent) one.answered = answered;
  }

  /** The codes with which a stream was reported to have ended. */
  endsOf({ call }: Sent): readonly number[] {
    return this.#ends.get(call.procedure) ?? [];
  }

  reportsOf({ call }: Sent): readonly Report[] {
    return this.#reports.get(call.procedure) ?? [];
  }

  /** Resolves when a call is reported, or answered: it is both, or one of the two is missing. */
  async ended(sent: Sent): Promise<void> {
    if (this.reportsOf(sent).length > 0) return;
    const reported = new Promise<void>((resolve) => {
      this.#onReport.set(sent.call.procedure, resolve);
    });
    await Promise.race([reported, sent.answered]);
  }

  /** All that was handed over before has been looked at, and all that was told has been heard. */
  async barrier(): Promise<void> {
    const sent = this.send('later');
    await sent.answered;
    await this.board.until(sent.tag, 'ended');
    await turn();
  }

  #observer(): CallObserver {
    return {
      timing: 'all',
      onCall: ({ procedure }, code, place, waitUs, runUs, busyUs, reply, together) => {
        const reports = this.#reports.get(procedure) ?? [];
        reports.push({ code, place, waitUs, runUs, busyUs, reply, together });
        this.#reports.set(procedure, reports);
        this.#onReport.get(procedure)?.();
      },
      onStreamEnd: ({ procedure }, code) => {
        this.#ends.set(procedure, [...(this.#ends.get(procedure) ?? []), code]);
      },
      onHandlerBatch: (procedure, _place, calls) => {
        this.runs.push([procedure, calls]);
      },
      onRefused: () => assert.fail('an executor is given calls only'),
    };
  }
}
