import assert from 'node:assert/strict';
import { streamWindow } from '../../../src/core/dispatch/streams/contract.ts';
import { ErrorCode } from '../../../src/core/protocol/errors.ts';
import { maxReplyBytes } from './bench.ts';
import { type Clause, streams, streamsInThreads } from './clause.ts';
import { endsOnce } from './expect.ts';
import { assertInOrder, dataOf, streamEnds } from './expect-stream.ts';

/** Milliseconds: a machine that is busy with other work must not keep a generator from a value for so long. */
const shortlyMs = 500;
/** Of a close that waits for as long as it must. */
const patientMs = 600_000;

/** What an executor owes to calls that stream: see src/core/dispatch/streams/contract.ts. */
export const streamClauses: readonly Clause[] = [
  {
    name: 'a stream gives its values in order, then one end; its call is reported when it opens',
    holdsFor: streams,
    check: async (bench) => {
      for (const method of ['counts', 'ticks'] as const) {
        for (const n of [0, 1, 31, 32, 33, 100]) {
          const streaming = bench.stream(method, n);
          const { text } = await streamEnds(bench, streaming, 0);
          assert.equal(JSON.parse(text), streaming.sent.tag, 'it ends with what it returned');
          assert.equal(streaming.reader.values.length, n);
        }
      }
    },
  },
  {
    name: 'each of many streams at a time gets its own values',
    holdsFor: streams,
    check: async (bench) => {
      const all = Array.from({ length: 20 }, (_, i) =>
        bench.stream(i % 2 === 0 ? 'counts' : 'ticks', i * 10),
      );
      for (const [i, one] of all.entries()) {
        const { text } = await streamEnds(bench, one, 0);
        assert.equal(JSON.parse(text), one.sent.tag);
        assert.equal(one.reader.values.length, i * 10);
      }
    },
  },
  {
    name: 'a stream that fails says why',
    holdsFor: streams,
    check: async (bench) => {
      for (const [method, code] of [
        ['refusesLater', 1234],
        ['breaksLater', ErrorCode.InternalError],
        ['growsLater', ErrorCode.LimitExceeded],
      ] as const) {
        const streaming = bench.stream(method, 40);
        const outcome = await streamEnds(bench, streaming, code);
        assert.equal(streaming.reader.values.length, 40);
        const data = dataOf(outcome);
        if (code === 1234) assert.deepEqual(data, { tag: streaming.sent.tag });
        if (code === ErrorCode.LimitExceeded) assert.deepEqual(data, { limit: maxReplyBytes });
      }
    },
  },
  {
    name: 'what fails before a stream opens is an ordinary reply',
    holdsFor: streams,
    check: async (bench) => {
      const { sent, reader } = bench.stream('opensNot', 1);
      await endsOnce(bench, sent, 1234);
      await bench.barrier();
      assert.ok(!reader.hasOpened && reader.outcome === undefined);
      assert.deepEqual(bench.endsOf(sent), []);
    },
  },
  {
    name: 'a reader that reads nothing is given one window',
    holdsFor: streams,
    check: async (bench) => {
      const streaming = bench.stream('counts', 1e9, { stallsAt: 0 });
      const { reader } = streaming;
      await reader.until(() => reader.values.length >= streamWindow.values);
      for (let i = 0; i < 3; i++) await bench.barrier();
      assertInOrder(streaming);
      reader.cancel();
    },
  },
  {
    name: 'after a cancel nothing comes, no end either, and the generator is closed',
    holdsFor: streams,
    check: async (bench) => {
      for (const method of ['counts', 'ticks', 'waits'] as const) {
        const streaming = bench.stream(method, method === 'waits' ? 3 : 1e9);
        const { sent, reader } = streaming;
        await reader.until(() => reader.values.length >= 3);
        reader.cancel();
        reader.cancel();
        await bench.board.until(sent.tag, 'ended');
        await bench.barrier();
        assertInOrder(streaming);
        assert.deepEqual(bench.endsOf(sent), [ErrorCode.Cancelled]);
      }
    },
  },
  {
    name: 'a stream ends with -32003 when the caller of its request leaves, and its generator is closed',
    holdsFor: streams,
    check: async (bench) => {
      const streaming = bench.stream('waits', 3);
      await streaming.reader.until(() => streaming.reader.values.length === 3);
      streaming.sent.scope.cancel();
      await streamEnds(bench, streaming, ErrorCode.Cancelled);
      await bench.board.until(streaming.sent.tag, 'ended');
    },
  },
  {
    name: 'a drain ends streams at their next yield, and leaves those that may finish',
    holdsFor: streams,
    closes: true,
    check: async (bench) => {
      const ending = [bench.stream('waits', 5), bench.stream('counts', 1e9, { stallsAt: 9 })];
      const finishing = bench.stream('finishes', 5);
      for (const { reader } of [...ending, finishing]) {
        await reader.until(() => reader.values.length >= 5);
      }
      const drained = bench.opened.streams.drain('reload', patientMs, 0);
      for (const one of ending) {
        const outcome = await streamEnds(bench, one, ErrorCode.Cancelled);
        assert.equal(dataOf(outcome).reason, 'reload', 'it says -32003 and why');
      }
      bench.board.release(finishing.sent.tag);
      await streamEnds(bench, finishing, 0);
      await drained;
      const late = bench.stream('counts', 1);
      await endsOnce(bench, late.sent, ErrorCode.Cancelled);
    },
  },
  {
    name: 'a close ends what has not ended within the grace with -32003',
    holdsFor: streams,
    closes: true,
    check: async (bench) => {
      const all = [bench.stream('waits', 5), bench.stream('finishes', 5)];
      for (const { reader } of all) await reader.until(() => reader.values.length === 5);
      await bench.opened.close(0);
      for (const one of all) {
        const outcome = await streamEnds(bench, one, ErrorCode.Cancelled);
        assert.equal(dataOf(outcome).reason, 'shutdown');
      }
    },
  },
  {
    name: 'a generator that holds its thread for too long is stopped: -32001, and -32002 for the others there',
    holdsFor: streamsInThreads,
    check: async (bench) => {
      const neighbour = bench.stream('waits', 5);
      await neighbour.reader.until(() => neighbour.reader.values.length === 5);
      const streaming = bench.stream('spinsLater', 50, { timeoutMs: shortlyMs });
      const behind = bench.send('value');
      const outcome = await streamEnds(bench, streaming, ErrorCode.DeadlineExceeded);
      assert.deepEqual(dataOf(outcome), { timeoutMs: shortlyMs });
      assert.equal(streaming.reader.values.length, 50, 'what was yielded before has come');
      const beside = await streamEnds(bench, neighbour, ErrorCode.WorkerLost);
      assert.equal(dataOf(beside).reason, 'neighbour');
      await endsOnce(bench, behind, 0);
    },
  },
  {
    name: 'the streams of a thread that dies end with -32002, and no value that was yielded is lost',
    holdsFor: streamsInThreads,
    check: async (bench) => {
      const neighbour = bench.stream('waits', 5);
      await neighbour.reader.until(() => neighbour.reader.values.length === 5);
      const streaming = bench.stream('diesLater', 50);
      for (const one of [streaming, neighbour]) {
        const outcome = await streamEnds(bench, one, ErrorCode.WorkerLost);
        assert.equal(dataOf(outcome).reason, 'exit');
      }
      assert.equal(streaming.reader.values.length, 50);
    },
  },
];
