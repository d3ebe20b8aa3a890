import assert from 'node:assert/strict';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { ErrorCode } from '../../../src/core/protocol/errors.ts';
import type { Bench, CallOptions, Sent } from './bench.ts';
import { batches, batchesInThreads, type Clause } from './clause.ts';
import { endsOnce, hasEndedOnce } from './expect.ts';

/** Milliseconds of a caller, or of a procedure, that are waited for. */
const shortlyMs = 100;

function resultOf({ reply }: Sent): unknown {
  return (JSON.parse(String(reply)) as { result?: unknown }).result;
}

function errorOf({ reply }: Sent): { code: number; data?: unknown } | undefined {
  return (JSON.parse(String(reply)) as { error?: { code: number; data?: unknown } }).error;
}

const times = (count: number, options: CallOptions = {}): CallOptions[] =>
  Array.from({ length: count }, () => options);

/** Ends all of them, and returns for how many calls their handler ran at once. */
async function sizesOf(bench: Bench, sent: readonly Sent[]): Promise<unknown[]> {
  for (const one of sent) {
    const { together } = await endsOnce(bench, one, 0);
    assert.equal(together, resultOf(one), 'it is reported how many calls ran together');
  }
  return sent.map(resultOf);
}

/** Calls that come while a run goes on, which ends when `release` is called. */
async function gathered(
  bench: Bench,
  scopes: readonly RequestScope[],
): Promise<{ first: Sent; behind: Sent[]; release: (sent: readonly Sent[]) => void }> {
  const first = bench.send('oneRun');
  await bench.board.until(first.tag, 'began');
  const behind = bench.sendAll(
    'oneRun',
    scopes.map((scope) => ({ scope })),
  );
  await bench.barrier();
  const release = (sent: readonly Sent[]): void => {
    for (const { tag } of sent) bench.board.release(tag);
  };
  return { first, behind, release };
}

/** The rows of the table of docs/procedures.md, "Handlers that take many calls". */
export const batchClauses: readonly Clause[] = [
  {
    name: 'calls of a batch procedure that come together run together, at most max, each run reported once',
    holdsFor: batches,
    check: async (bench) => {
      const before = bench.runs.length;
      const sizes = await sizesOf(bench, bench.sendAll('together', times(20)));
      const runs = bench.runs.slice(before).filter(([name]) => name.startsWith('together'));
      const counts = runs.map(([, calls]) => calls);
      assert.deepEqual(
        sizes,
        counts.flatMap((count) => Array(count).fill(count)),
      );
      // What calls have taken bounds a run as well: a busy machine makes it smaller.
      assert.ok(Math.max(...counts) <= 8 && counts.length < sizes.length, counts.join(', '));
    },
  },
  {
    name: 'an Error in the place of a call is the error of that call alone: an RpcError whole, any other a fault',
    holdsFor: batches,
    check: async (bench) => {
      const acts = [{}, { act: 'refused' }, { act: 'broken' }, { act: 'broken' }, {}];
      const [a, refused, broken, other, b] = bench.sendAll('together', acts) as [
        Sent,
        Sent,
        Sent,
        Sent,
        Sent,
      ];
      await sizesOf(bench, [a, b]);
      await endsOnce(bench, refused, 1234);
      assert.deepEqual(errorOf(refused)?.data, { tag: refused.tag });
      await endsOnce(bench, broken, ErrorCode.InternalError);
      await endsOnce(bench, other, ErrorCode.InternalError);
      assert.notDeepEqual(errorOf(broken)?.data, errorOf(other)?.data);
    },
  },
  {
    name: 'a batch handler that throws, or gives no result for each call, ends all calls with one -32603, one reference and one line',
    holdsFor: batches,
    check: async (bench) => {
      for (const act of ['throws', 'gives no array', 'gives one too few']) {
        bench.renew();
        await bench.barrier();
        bench.faults.length = 0;
        const sent = bench.sendAll('together', [{}, { act }, { isNotification: true }, {}]);
        for (const one of sent) await endsOnce(bench, one, ErrorCode.InternalError);
        await bench.barrier();
        const refs = sent
          .filter(({ reply }) => reply !== undefined)
          .map((one) => errorOf(one)?.data);
        assert.equal(bench.faults.length, 1, act);
        const [fault] = bench.faults;
        assert.equal(fault?.calls, 4);
        assert.match(
          fault?.detail ?? '',
          act === 'throws' ? /RpcError: Refused/ : /return an array of 4/,
        );
        for (const data of refs) assert.deepEqual(data, { ref: fault?.ref });
      }
      // The same for a call that runs alone.
      const alone = bench.send('together', { act: 'throws' });
      await endsOnce(bench, alone, ErrorCode.InternalError);
    },
  },
  {
    name: 'while parallel runs go on calls gather; one whose caller leaves meanwhile never runs',
    holdsFor: batches,
    check: async (bench) => {
      const scopes = [new RequestScope(), new RequestScope(), new RequestScope()];
      const { first, behind, release } = await gathered(bench, scopes);
      const [a, left, b] = behind as [Sent, Sent, Sent];
      scopes[1]?.cancel();
      await endsOnce(bench, left, ErrorCode.Cancelled);
      assert.ok(!first.isAnswered);
      release([first, a, b]);
      assert.deepEqual(await sizesOf(bench, [first, a, b]), [1, 2, 2]);
      assert.ok(!bench.board.has(left.tag, 'began'), 'it never runs');
    },
  },
  {
    name: 'a caller who leaves a run that goes on aborts the signal of its own call, and the run goes on',
    holdsFor: batches,
    check: async (bench) => {
      const scopes = [new RequestScope(), new RequestScope()];
      const { first, behind, release } = await gathered(bench, scopes);
      release([first]);
      const [left, stays] = behind as [Sent, Sent];
      await bench.board.until(stays.tag, 'began');
      scopes[0]?.cancel();
      await bench.board.until(left.tag, 'aborted');
      await bench.barrier();
      assert.ok(!stays.isAnswered && !bench.board.has(stays.tag, 'aborted'));
      release(behind);
      assert.deepEqual(await sizesOf(bench, [stays]), [2]);
      await endsOnce(bench, left, 0);
    },
  },
  {
    name: 'the signal of a run is aborted when nobody waits for any of its calls',
    holdsFor: batches,
    check: async (bench) => {
      const scopes = [new RequestScope(), new RequestScope()];
      const { first, behind, release } = await gathered(bench, scopes);
      release([first]);
      await bench.board.until(behind[1]?.tag ?? '', 'began');
      for (const scope of scopes) scope.cancel();
      // Nothing else ends it: no call was released.
      for (const one of behind) await endsOnce(bench, one, 0);
      assert.deepEqual(behind.map(resultOf), [-1, -1]);
      release(behind);
    },
  },
  {
    name: 'a call whose caller has no time left is answered with -32001 alone, and the run goes on',
    holdsFor: batches,
    check: async (bench) => {
      const scopes = [new RequestScope(), new RequestScope({ timeoutMs: shortlyMs })];
      const { first, behind, release } = await gathered(bench, scopes);
      release([first]);
      const [stays, impatient] = behind as [Sent, Sent];
      // On a busy machine it has not begun by then.
      await endsOnce(bench, impatient, ErrorCode.DeadlineExceeded);
      await bench.barrier();
      assert.ok(!stays.isAnswered);
      release(behind);
      await endsOnce(bench, stays, 0);
    },
  },
  {
    name: 'synchronous code that runs for many calls is not stopped at the time of one caller',
    holdsFor: batchesInThreads,
    check: async (bench) => {
      const act = 'waits for an impatient caller';
      const scope = new RequestScope({ timeoutMs: shortlyMs });
      const sent = bench.sendAll('harmful', [{}, { act, scope }, {}]);
      await endsOnce(bench, sent[1] as Sent, ErrorCode.DeadlineExceeded);
      const others = [sent[0], sent[2]] as Sent[];
      for (const one of others) await endsOnce(bench, one, 0);
    },
  },
  {
    name: 'at the timeoutMs of a batch procedure all calls of a run are answered with -32001',
    holdsFor: batches,
    check: async (bench) => {
      const sent = bench.sendAll('oneRun', times(3, { timeoutMs: shortlyMs }));
      for (const one of sent) {
        await endsOnce(bench, one, ErrorCode.DeadlineExceeded);
        assert.deepEqual(errorOf(one)?.data, { timeoutMs: shortlyMs });
      }
      for (const { tag } of sent) bench.board.release(tag);
      // What goes on beyond its time keeps no later run from starting.
      const next = bench.send('oneRun');
      bench.board.release(next.tag);
      await endsOnce(bench, next, 0);
    },
  },
  {
    name: 'synchronous code of many calls is stopped at the timeoutMs of its procedure',
    holdsFor: batchesInThreads,
    check: async (bench) => {
      const spins = { act: 'spins', timeoutMs: shortlyMs };
      const sent = bench.sendAll('endless', [spins, { timeoutMs: shortlyMs }, spins]);
      for (const one of sent) await endsOnce(bench, one, ErrorCode.DeadlineExceeded);
      await endsOnce(bench, bench.send('value'), 0);
    },
  },
  {
    name: 'a thread that is lost in a run costs all its calls, for the same reason; then its procedure runs call by call',
    holdsFor: batchesInThreads,
    check: async (bench) => {
      const sent = bench.sendAll('deadly', [{}, { act: 'dies' }, {}]);
      const reasons = [];
      for (const one of sent) {
        await endsOnce(bench, one, ErrorCode.WorkerLost);
        reasons.push(errorOf(one)?.data);
      }
      assert.deepEqual(reasons, times(3).fill({ reason: 'exit' } as CallOptions));
      assert.deepEqual(await sizesOf(bench, bench.sendAll('deadly', times(3))), [1, 1, 1]);
      // Others still run together.
      assert.deepEqual(await sizesOf(bench, bench.sendAll('together', times(3))), [3, 3, 3]);
    },
  },
  {
    name: 'calls that have waited before a batch handler run together, and middleware gets the result of its own call',
    holdsFor: batches,
    check: async (bench) => {
      const sent = bench.sendAll('linked', times(3));
      for (const one of sent) {
        await endsOnce(bench, one, 0);
        const wanted = `${one.tag} ${one.tag} 3`;
        assert.equal(resultOf(one), wanted);
        await bench.board.until(wanted, 'ended');
      }
    },
  },
  {
    name: 'calls in order run one by one, in a batch procedure too',
    holdsFor: batches,
    check: async (bench) => {
      if (bench.opened.executor.executeInOrder === undefined) return;
      const scope = new RequestScope();
      const sent = times(3, { scope }).map((options) => bench.make('together', options));
      bench.sendInOrder(sent);
      assert.deepEqual(await sizesOf(bench, sent), [1, 1, 1]);
      const wanted = sent.flatMap(({ tag }) => [`${tag} began`, `${tag} ended`]);
      await bench.barrier();
      assert.deepEqual(bench.board.of(sent.map(({ tag }) => tag)), wanted);
    },
  },
  {
    name: 'bytes beside the JSON of a call are its own Uint8Array',
    holdsFor: batches,
    check: async (bench) => {
      const sent = bench.sendAll(
        'bytes',
        [1, 2, 3].map((n) => {
          const scope = new RequestScope();
          scope.rawBytes = { param: Buffer.alloc(n, n), asResult: false };
          return { scope };
        }),
      );
      for (const one of sent) await endsOnce(bench, one, 0);
      assert.deepEqual(sent.map(resultOf), ['1 of 1', '2,2 of 2', '3,3,3 of 3']);
    },
  },
  {
    name: 'the calls of a run are reported with the time of the whole run',
    holdsFor: batchesInThreads,
    check: async (bench) => {
      const sent = bench.sendAll('together', times(4));
      await sizesOf(bench, sent);
      const [first, ...others] = await Promise.all(sent.map((one) => hasEndedOnce(bench, one, 0)));
      for (const { runUs } of others) assert.equal(runUs, first?.runUs);
    },
  },
];
