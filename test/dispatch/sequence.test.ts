import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Call, CallEnding } from '../../src/core/dispatch/call.ts';
import type { Executor } from '../../src/core/dispatch/executor.ts';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import {
  joinReplies,
  runConcurrently,
  runInOrder,
  type Step,
} from '../../src/core/dispatch/sequence.ts';
import { procedure } from '../../src/core/procedures/procedure.ts';
import type { Reply } from '../../src/core/protocol/reply.ts';
import { seed } from '../seed.ts';
import { turn } from '../turns.ts';

const upTo = (bytes: number) => new CallEnding('none', bytes, undefined);
const enough = upTo(1_000_000);
const scope = new RequestScope();
const anything = procedure({ name: 'anything' }, () => null);

/** @param id undefined: a notification */
function callOf(id: string | undefined): Call {
  return {
    procedure: anything,
    id,
    params: undefined,
    source: undefined,
    start: -1,
    end: -1,
    scope,
  };
}

/** Runs nothing, and notes when each call begins and ends. */
class FakeExecutor implements Executor {
  readonly place = 'fake';
  readonly takesUnparsed = true;
  readonly executeInOrder?: NonNullable<Executor['executeInOrder']>;
  readonly #journal: string[];
  readonly #isSync: (call: Call) => boolean;
  readonly #replyTo: (call: Call) => Reply;
  calls = 0;
  runs = 0;

  constructor(
    journal: string[],
    isSync: (call: Call) => boolean,
    replyTo: (call: Call) => Reply = (call) => call.id,
    takesSeveral = true,
  ) {
    if (takesSeveral) this.executeInOrder = (calls) => this.#run(calls);
    this.#journal = journal;
    this.#isSync = isSync;
    this.#replyTo = replyTo;
  }

  execute(call: Call): Reply | Promise<Reply> {
    this.calls++;
    this.#journal.push(`${call.start} begins`);
    if (this.#isSync(call)) return this.#end(call);
    // More than one turn of the microtask queue, so that an order kept by luck is seen.
    return Promise.resolve()
      .then(() => undefined)
      .then(() => undefined)
      .then(() => this.#end(call));
  }

  #run(calls: readonly Call[]): Reply[] | Promise<Reply[]> {
    this.runs++;
    return this.#next(calls, []);
  }

  #next(calls: readonly Call[], replies: Reply[]): Reply[] | Promise<Reply[]> {
    for (let i = replies.length; i < calls.length; i++) {
      const reply = this.execute(calls[i] as Call);
      if (reply instanceof Promise) {
        return reply.then((value) => this.#next(calls, [...replies, value]));
      }
      replies.push(reply);
    }
    return replies;
  }

  #end(call: Call): Reply {
    this.#journal.push(`${call.start} ends`);
    return this.#replyTo(call);
  }
}

type Kind = { executor: number; notification: boolean; sync: boolean } | 'standing' | 'nothing';

const kind: fc.Arbitrary<Kind> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      executor: fc.nat({ max: 2 }),
      notification: fc.boolean(),
      sync: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Kind>('standing', 'nothing') },
);
// Short ones to shrink to, long ones for more than one hand-over.
const batches = fc.oneof(
  fc.array(kind, { maxLength: 12 }),
  fc.array(kind, { minLength: 100, maxLength: 300 }),
);

interface Made {
  readonly steps: Step[];
  readonly journal: string[];
  readonly wanted: Reply[];
  readonly ran: number[];
}

function makeSteps(kinds: readonly Kind[], allSync = false): Made {
  const journal: string[] = [];
  const isSync = ({ end }: Call) => allSync || end === 1;
  const executors = [true, true, false].map(
    (sendsOn) => new FakeExecutor(journal, isSync, undefined, sendsOn),
  );
  const wanted: Reply[] = [];
  const ran: number[] = [];
  const steps = kinds.map((one, index): Step => {
    if (one === 'standing' || one === 'nothing') {
      const reply = one === 'standing' ? `standing ${index}` : undefined;
      wanted.push(reply);
      return { call: undefined, reply };
    }
    const id = one.notification ? undefined : `${index}`;
    wanted.push(id);
    ran.push(index);
    const call = { ...callOf(id), start: index, end: one.sync ? 1 : 0 };
    return { call, executor: executors[one.executor] as Executor };
  });
  return { steps, journal, wanted, ran };
}

describe('runInOrder', () => {
  test('each call begins when the one before has ended, in whatever place', async () => {
    await fc.assert(
      fc.asyncProperty(batches, async (kinds) => {
        const { steps, journal, wanted, ran } = makeSteps(kinds);
        assert.deepEqual(await runInOrder(steps, enough, turn), wanted);
        assert.deepEqual(
          journal,
          ran.flatMap((index) => [`${index} begins`, `${index} ends`]),
        );
      }),
      { seed, numRuns: 1000 },
    );
  });

  test('stays synchronous where every call does', () => {
    fc.assert(
      fc.property(batches, (kinds) => {
        const { steps, wanted } = makeSteps(kinds, true);
        assert.deepEqual(runInOrder(steps, enough, turn), wanted);
      }),
      { seed, numRuns: 300 },
    );
  });

  test('neighbours for an executor that sends them on are handed over together', () => {
    const journal: string[] = [];
    const [first, second] = [0, 1].map(() => new FakeExecutor(journal, () => true)) as [
      FakeExecutor,
      FakeExecutor,
    ];
    const step = (executor: Executor): Step => ({ call: callOf('1'), executor });
    void runInOrder(
      [step(first), step(first), step(second), step(second), step(first)],
      enough,
      turn,
    );
    assert.deepEqual([first.runs, first.calls, second.runs, second.calls], [2, 3, 1, 2]);
  });

  test('nothing is run behind the reply that breaks the limit', async () => {
    for (const sync of [true, false]) {
      const journal: string[] = [];
      const make = () =>
        new FakeExecutor(
          journal,
          () => sync,
          (call) => (call.id === undefined ? undefined : `"${call.id.repeat(30)}"`),
        );
      const places = [make(), make()];
      const steps = ['a', 'b', 'c', 'd', 'e', 'f'].map(
        (id, index): Step => ({
          call: { ...callOf(id === 'e' ? undefined : id), start: index },
          executor: places[index % 2] as Executor,
        }),
      );
      // '[' and three times 33 bytes fit: a reply, and what separates it or closes.
      const replies = await runInOrder(steps, upTo(100), turn);
      const tooLarge = (id: string) =>
        `{"jsonrpc":"2.0","id":${id},"error":{"code":-32004,"message":"Limit exceeded","data":{"limit":100}}}`;
      assert.deepEqual(replies, [
        ...['a', 'b', 'c'].map((id) => `"${id.repeat(30)}"`),
        tooLarge('d'),
        undefined,
        tooLarge('f'),
      ]);
      // The fourth has run: its size was not known before.
      assert.deepEqual(
        journal.filter((line) => line.endsWith('ends')),
        ['0 ends', '1 ends', '2 ends', '3 ends'],
      );
      assert.equal(joinReplies(replies.slice(0, 3))?.length, 100);
    }
  });

  test('the limit counts bytes, not characters', async () => {
    const executor = new FakeExecutor(
      [],
      () => true,
      () => '"éé"',
    );
    const steps = Array.from({ length: 3 }, (): Step => ({ call: callOf('1'), executor }));
    // 6 bytes each, and 4 around them.
    assert.deepEqual(await runInOrder(steps, upTo(22), turn), ['"éé"', '"éé"', '"éé"']);
    const replies = await runInOrder(steps, upTo(21), turn);
    assert.match(String(replies[2]), /-32004/);
    const bytes = new FakeExecutor(
      [],
      () => true,
      () => Buffer.from('"éé"'),
    );
    const mixed = steps.map((step): Step => ({ ...step, executor: bytes }) as Step);
    assert.match(String((await runInOrder(mixed, upTo(21), turn))[2]), /-32004/);
  });
});

describe('runConcurrently', () => {
  test('begins in order, never more than it may, and answers in order', async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.integer({ min: 2, max: 20 }), async (kinds, concurrency) => {
        const { steps, journal, wanted, ran } = makeSteps(kinds);
        assert.deepEqual(await runConcurrently(steps, concurrency, enough, turn), wanted);
        const begun = journal.filter((line) => line.endsWith('begins'));
        assert.deepEqual(
          begun,
          ran.map((index) => `${index} begins`),
        );
        let running = 0;
        for (const line of journal) {
          running += line.endsWith('begins') ? 1 : -1;
          assert.ok(running <= concurrency);
        }
        assert.equal(running, 0);
      }),
      { seed, numRuns: 500 },
    );
  });
});

describe('joinReplies', () => {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text));

  test('a JSON array of what there is', () => {
    for (const [replies, wanted] of [
      [[], undefined],
      [[undefined, undefined], undefined],
      [['1'], '[1]'],
      [[undefined, '1', undefined, '"é"', undefined], '[1,"é"]'],
      [[bytes('1')], '[1]'],
      [['"é"', bytes('"ü"'), undefined, '3'], '["é","ü",3]'],
      [[bytes('"😀"'), '2', bytes('3')], '["😀",2,3]'],
    ] as const) {
      const joined = joinReplies(replies);
      const text = joined === undefined ? undefined : Buffer.from(joined as Uint8Array).toString();
      assert.equal(text, wanted);
      const hasBytes = replies.some((reply) => typeof reply === 'object');
      assert.equal(
        typeof joined,
        wanted === undefined ? 'undefined' : hasBytes ? 'object' : 'string',
      );
    }
  });
});
