import assert from 'node:assert/strict';
import { neverRan } from '../../../src/core/dispatch/call.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { ErrorCode } from '../../../src/core/protocol/errors.ts';
import { turn } from '../../turns.ts';
import { batchClauses } from './batch-clauses.ts';
import { Bench, type Method, type Sent } from './bench.ts';
import { type Clause, runs, stopsThreads } from './clause.ts';
import { codeOf, endsOnce, hasEndedOnce, isRefused } from './expect.ts';
import { closesInTheMidst, deaths, mixes } from './generated.ts';
import { streamClauses } from './stream-clauses.ts';
import type { Subject } from './subject.ts';

/**
 * Milliseconds: the suite waits for such deadlines to pass, and for nothing else. A thread whose synchronous code takes longer is
 * stopped, and on a busy machine that code may wait for a processor several times.
 */
const shortlyMs = 100;

/** Of a close that waits for as long as it must. */
const patientMs = 600_000;

async function endsWith(bench: Bench, method: Method, code: number): Promise<void> {
  for (const isNotification of [false, true]) {
    const sent = bench.send(method, { isNotification });
    const { runUs } = await endsOnce(bench, sent, code);
    assert.notEqual(runUs, neverRan, 'it ran');
  }
}

/** On a busy machine some calls meet their deadline before they run, and some threads are stopped that would have ended by themselves. */
const tries = 8;

/**
 * Sends calls, each with twice the time of the one before, until one has come to `mark` and has met its deadline.
 *
 * @returns that one, or the last one
 */
async function expired(
  bench: Bench,
  method: Method,
  mark: 'began' | 'aborted',
  isNotification = false,
): Promise<Sent> {
  for (let timeoutMs = shortlyMs, left = tries; ; timeoutMs *= 2) {
    const sent = bench.send(method, { isNotification, timeoutMs });
    await bench.ended(sent);
    await hasEndedOnce(bench, sent, ErrorCode.DeadlineExceeded);
    await bench.barrier();
    if (bench.board.has(sent.tag, mark) || --left === 0) return sent;
  }
}

const clauses: readonly Clause[] = [
  {
    name: 'a result is answered once and reported once, a notification too',
    holdsFor: runs,
    check: async (bench) => {
      await endsWith(bench, 'value', 0);
      await endsWith(bench, 'later', 0);
    },
  },
  {
    name: 'what a handler throws is an error reply, never a rejection',
    holdsFor: runs,
    check: async (bench) => {
      await endsWith(bench, 'refused', 1234);
      await endsWith(bench, 'broken', ErrorCode.InternalError);
    },
  },
  {
    name: 'params that nobody has parsed are parsed where the call runs',
    holdsFor: runs,
    check: async (bench) => {
      if (!bench.opened.executor.takesUnparsed) return;
      const sent = bench.send('value', { isUnparsed: true });
      await endsOnce(bench, sent, 0);
      assert.equal((JSON.parse(String(sent.reply)) as { result: string }).result, sent.tag);
    },
  },
  {
    name: 'a reply above the bound is -32004 in its place, in the report too',
    holdsFor: runs,
    check: async (bench) => {
      const sent = bench.send('large');
      await endsOnce(bench, sent, ErrorCode.LimitExceeded);
      assert.equal(codeOf(sent), ErrorCode.LimitExceeded);
      // Nothing goes out for it: nothing is too large.
      await endsOnce(bench, bench.send('large', { isNotification: true }), 0);
    },
  },
  {
    name: 'each of many calls gets its own reply, in whatever order they end',
    holdsFor: runs,
    check: async (bench) => {
      const sent = Array.from({ length: 5 }, () => bench.send('hold'));
      for (const { tag } of sent.toReversed()) bench.board.release(tag);
      for (const one of sent) await endsOnce(bench, one, 0);
    },
  },
  {
    name: 'a call is answered with -32001 at its deadline, and what it gives later is dropped',
    holdsFor: runs,
    check: async (bench) => {
      for (const isNotification of [false, true]) {
        const sent = await expired(bench, 'hold', 'began', isNotification);
        bench.board.release(sent.tag);
        await bench.board.until(sent.tag, 'ended');
        await bench.barrier();
        await hasEndedOnce(bench, sent, ErrorCode.DeadlineExceeded);
      }
    },
  },
  {
    name: 'the signal of a call is aborted at its deadline',
    holdsFor: runs,
    check: async (bench) => {
      const sent = await expired(bench, 'untilAborted', 'aborted');
      assert.ok(bench.board.has(sent.tag, 'aborted'));
    },
  },
  {
    name: 'synchronous code is stopped at its deadline, and those behind it run',
    holdsFor: stopsThreads,
    check: async (bench) => {
      const sent = bench.send('spin', { timeoutMs: shortlyMs });
      const behind = bench.send('value');
      await endsOnce(bench, sent, ErrorCode.DeadlineExceeded);
      await endsOnce(bench, behind, 0);
    },
  },
  {
    name: 'a call whose request has no time left is answered with -32001 and never runs',
    holdsFor: runs,
    check: async (bench) => {
      const sent = bench.send('value', { scope: new RequestScope({ timeoutMs: 0 }) });
      await isRefused(bench, sent, ErrorCode.DeadlineExceeded);
      await bench.barrier();
      assert.ok(!bench.board.has(sent.tag, 'began'));
    },
  },
  {
    name: 'a call whose caller has left before it ran is answered with -32003 and never runs',
    check: async (bench) => {
      const scope = new RequestScope();
      scope.cancel();
      const sent = bench.send('value', { scope });
      await isRefused(bench, sent, ErrorCode.Cancelled);
      if (bench.subject.abilities.runs) await bench.barrier();
      assert.ok(!bench.board.has(sent.tag, 'began'));
    },
  },
  {
    name: 'the signal of a call is aborted when its caller leaves, and it is answered when it ends',
    holdsFor: runs,
    check: async (bench) => {
      const sent = bench.send('untilAborted');
      const deaf = bench.send('hold', { scope: sent.scope });
      await Promise.all([sent, deaf].map(({ tag }) => bench.board.until(tag, 'began')));
      sent.scope.cancel();
      await bench.barrier();
      assert.ok(bench.board.has(sent.tag, 'aborted'), 'its signal is aborted');
      await hasEndedOnce(bench, sent, 0);
      assert.ok(!deaf.isAnswered, 'it has not ended');
      bench.board.release(deaf.tag);
      await endsOnce(bench, deaf, 0);
    },
  },
  {
    name: 'calls in order begin one after another, and are answered in that order',
    holdsFor: runs,
    check: async (bench) => {
      if (bench.opened.executor.executeInOrder === undefined) return;
      const scope = new RequestScope();
      const methods: readonly Method[] = ['hold', 'value', 'refused', 'later', 'broken', 'value'];
      const sent = methods.map((method, i) =>
        bench.make(method, { scope, isNotification: i === 3 }),
      );
      bench.sendInOrder(sent);
      const [first, last] = [sent[0], sent.at(-1)];
      assert.ok(first !== undefined && last !== undefined);
      await bench.board.until(first.tag, 'began');
      await bench.barrier();
      bench.board.release(first.tag);
      for (const [i, code] of [0, 0, 1234, 0, ErrorCode.InternalError, 0].entries()) {
        const one = sent[i];
        if (one !== undefined) await endsOnce(bench, one, code);
      }
      await bench.board.until(last.tag, 'ended');
      const names = sent.map(({ tag }) => tag);
      const wanted = names.flatMap((tag) => [`${tag} began`, `${tag} ended`]);
      assert.deepEqual(bench.board.of(names), wanted);
    },
  },
  {
    name: 'a call that comes after the close is answered with -32003 and never runs',
    closes: true,
    check: async (bench) => {
      await bench.opened.close(0);
      for (const isNotification of [false, true]) {
        const sent = bench.send('value', { isNotification });
        await isRefused(bench, sent, ErrorCode.Cancelled);
        await turn();
        assert.ok(!bench.board.has(sent.tag, 'began'));
      }
      if (bench.opened.executor.executeInOrder === undefined) return;
      const scope = new RequestScope();
      const batch = [bench.make('value', { scope }), bench.make('value', { scope })];
      bench.sendInOrder(batch);
      for (const one of batch) await isRefused(bench, one, ErrorCode.Cancelled);
    },
  },
  {
    name: 'a call that runs may end within the grace of the close',
    holdsFor: runs,
    closes: true,
    check: async (bench) => {
      const sent = bench.send('hold');
      await bench.board.until(sent.tag, 'began');
      const closing = bench.opened.close(patientMs);
      await turn();
      assert.ok(!sent.isAnswered, 'it is not ended before its time');
      bench.board.release(sent.tag);
      await closing;
      await hasEndedOnce(bench, sent, 0);
    },
  },
  {
    name: 'a call that runs beyond the grace of the close is answered with -32002',
    holdsFor: runs,
    closes: true,
    check: async (bench) => {
      const sent = bench.send('hold');
      await bench.board.until(sent.tag, 'began');
      await bench.opened.close(0);
      await hasEndedOnce(bench, sent, ErrorCode.WorkerLost);
    },
  },
  {
    name: 'a call whose thread dies is answered with -32002, and what had not started runs elsewhere',
    holdsFor: stopsThreads,
    check: async (bench) => {
      const sent = bench.send('die');
      const behind = Array.from({ length: 3 }, () => bench.send('value'));
      await endsOnce(bench, sent, ErrorCode.WorkerLost);
      for (const one of behind) await endsOnce(bench, one, 0);
    },
  },
  ...streamClauses,
  ...batchClauses,
  {
    name: 'whatever is mixed, each call is answered once and reported once',
    check: mixes,
  },
  {
    name: 'whatever is mixed, a thread that dies leaves no call without its one answer',
    holdsFor: stopsThreads,
    check: deaths,
  },
  {
    name: 'whatever is mixed, a close in the midst leaves no call without its one answer',
    check: ({ subject }) => closesInTheMidst(subject),
  },
];

/** Runs clauses against one subject: those that do not close it share one executor. */
export class Conformance {
  readonly #subject: Subject;
  #shared: Promise<Bench> | undefined;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  /** Those that hold for the subject. */
  get clauses(): readonly Clause[] {
    const { abilities } = this.#subject;
    return clauses.filter(({ holdsFor }) => holdsFor?.(abilities) !== false);
  }

  /** @throws what shows that a clause is not kept */
  async check(clause: Clause): Promise<void> {
    if (clause.closes !== true) {
      this.#shared ??= Bench.open(this.#subject);
      const bench = await this.#shared;
      if (batchClauses.includes(clause)) bench.renew();
      await clause.check(bench);
      return;
    }
    const bench = await Bench.open(this.#subject);
    try {
      await clause.check(bench);
    } finally {
      await bench.end();
    }
  }

  async end(): Promise<void> {
    await (await this.#shared)?.end();
  }
}
