import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { BroadcastResult } from '../../src/index.ts';
import { turn, until } from '../turns.ts';
import { EditedModule } from './edited-module.ts';
import { seed } from './random.ts';

/** Random interleavings of broadcasts with losses, replacements and reloads. A failure prints its seed: FAULT_SEED repeats it. */

const names = ['quick', 'slow'] as const;
type Name = (typeof names)[number];
type Group = 'heavy' | undefined;

/** Each copy of the module writes down what it has run, `copy name number`, and reports the last number of each name. */
const code = `
import { appendFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
const copy = threadId + '.' + process.hrtime.bigint();
const last = {};
const note = (name, number) => {
  appendFileSync(here('journal'), copy + ' ' + name + ' ' + number + '\\n');
  last[name] = number;
  return copy;
};
export const broadcasts = {
  quick: (number) => note('quick', number),
  async slow(number) {
    await new Promise((resolve) => setTimeout(resolve, number % 6));
    return note('slow', number);
  },
  report: (_params, { group }) => ({ last, group }),
};
const kept = [];
const busy = () => {
  kept.push(new Uint8Array(6 * 1024 ** 2));
  for (const end = Date.now() + 5; Date.now() < end; );
};
router.rpc({ name: 'worker.busy', placement: 'worker' }, busy);
router.rpc({ name: 'worker.die', placement: 'worker' }, () => process.reallyExit(1));
router.rpc({ name: 'heavy.busy', group: 'heavy' }, busy);
router.rpc({ name: 'heavy.die', group: 'heavy' }, () => process.reallyExit(1));
`;

type Step =
  | {
      readonly kind: 'broadcast';
      readonly name: Name;
      readonly group: Group;
      readonly isReplayed: boolean;
    }
  | { readonly kind: 'call'; readonly method: string }
  | { readonly kind: 'reload' }
  | { readonly kind: 'pause'; readonly turns: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('broadcast' as const),
      name: fc.constantFrom(...names),
      group: fc.constantFrom<Group>(undefined, undefined, undefined, 'heavy'),
      isReplayed: fc.nat({ max: 3 }).map((n) => n > 0),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      method: fc.constantFrom(
        'worker.busy',
        'worker.busy',
        'heavy.busy',
        'worker.die',
        'heavy.die',
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'reload' }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('pause' as const), turns: fc.nat({ max: 40 }) }),
  },
);

const steps = fc.array(step, { minLength: 20, maxLength: 60 });

class Played {
  readonly served: EditedModule;
  #number = 0;
  #version = 1;

  constructor(t: TestContext) {
    const crew = { workers: 2, spareWorkers: 1 };
    // Workers grow old, too.
    const old = { maxWorkerMemory: 100 * 1024 ** 2 };
    const options = { ...crew, ...old, groups: { heavy: { ...crew, workers: 1 } } };
    this.served = new EditedModule(t, options, code);
  }

  get #journal(): string {
    return this.served.file('journal');
  }

  async play(script: readonly Step[]): Promise<void> {
    writeFileSync(this.#journal, '');
    const { dispatcher } = this.served;
    const sent: { number: number; group: Group; results: Promise<BroadcastResult[]> }[] = [];
    const last = new Map<string, { number: number; isReplayed: boolean }>();
    const others: Promise<unknown>[] = [];
    for (const one of script) {
      if (one.kind === 'broadcast') {
        const { name, group, isReplayed } = one;
        const number = ++this.#number;
        const replay = isReplayed ? ('last' as const) : undefined;
        const results = dispatcher.broadcast(name, number, { group, replay });
        sent.push({ number, group, results });
        for (const target of group === undefined ? ['all', 'heavy'] : ['heavy'])
          last.set(`${name} ${target}`, { number, isReplayed });
      } else if (one.kind === 'call') {
        others.push(dispatcher.dispatch({ id: 1, method: one.method }));
      } else if (one.kind === 'reload') {
        this.served.edit(++this.#version, code);
        others.push(dispatcher.reload());
      } else for (let i = 0; i < one.turns; i++) await turn();
    }
    const answers = await Promise.all(sent.map(({ results }) => results));
    await Promise.all(others);
    await this.#whole();
    const ran = this.#ran();
    for (const [i, { number, group }] of sent.entries()) {
      const results = answers[i] as BroadcastResult[];
      if (group === undefined)
        assert.deepEqual([results[0]?.place, results[0]?.ok], ['inline', true]);
      else assert.ok(results.every(({ place }) => place === 'worker:heavy'));
      const copies = results.flatMap((result) => (result.ok ? [result.value as string] : []));
      assert.equal(new Set(copies).size, copies.length, 'a copy has answered twice');
      for (const copy of copies)
        assert.ok(ran.get(copy)?.includes(number), 'it has run where it is ok');
    }
    await this.#assertLast(last);
  }

  /** What each copy has run, where it was checked that this is in order, and each once. */
  #ran(): Map<string, number[]> {
    const byCopy = new Map<string, number[]>();
    const byName = new Map<string, number>();
    for (const line of readFileSync(this.#journal, 'utf8').split('\n').slice(0, -1)) {
      const [copy = '', name = '', text] = line.split(' ');
      const number = Number(text);
      const before = byName.get(`${copy} ${name}`) ?? 0;
      assert.ok(number > before, `${name} ${number} came after ${before}`);
      byName.set(`${copy} ${name}`, number);
      byCopy.set(copy, [...(byCopy.get(copy) ?? []), number]);
    }
    return byCopy;
  }

  /** Every thread that serves has the last params that are replayed, whenever it started. */
  async #assertLast(
    last: ReadonlyMap<string, { readonly number: number; readonly isReplayed: boolean }>,
  ): Promise<void> {
    const reports = await this.served.dispatcher.broadcast('report');
    assert.deepEqual(reports.map(({ place }) => place).sort(), [
      'inline',
      'worker',
      'worker',
      'worker',
      'worker:heavy',
      'worker:heavy',
    ]);
    for (const report of reports) {
      assert.ok(report.ok);
      const { last: own, group } = report.value as { last: Record<string, number>; group?: string };
      for (const name of names) {
        const wanted = last.get(`${name} ${group ?? 'all'}`);
        if (wanted?.isReplayed === true) assert.equal(own[name], wanted.number, report.place);
      }
    }
  }

  /** Resolves when all workers and spares are there again. */
  async #whole(): Promise<void> {
    await until(() => {
      const { pool, groups } = this.served.dispatcher.stats();
      return [pool, groups.heavy].every(
        (one, i) => one?.workers.length === 2 - i && one.spares === 1 && one.starting === 0,
      );
    });
  }
}

test(`each copy of the modules runs each broadcast at most once, in order, and has what is replayed (FAULT_SEED=${seed})`, async (t) => {
  const played = new Played(t);
  await played.served.dispatcher.ready();
  const property = fc.asyncProperty(steps, (script) => played.play(script));
  await fc.assert(property, { seed, numRuns: 12, endOnFailure: true, includeErrorInReport: true });
});

test('a reload whose copies do not end a broadcast that is replayed is refused, and named', async (t) => {
  const served = new EditedModule(
    t,
    { startTimeoutMs: 5000 },
    'export const broadcasts = { config() {} };',
  );
  const { dispatcher } = served;
  await dispatcher.broadcast('config', 1, { replay: 'last' });
  served.edit(2, 'export const broadcasts = { config: () => new Promise(() => {}) };');
  assert.match(
    (await served.refusal()) ?? '',
    /^tried in a worker: after 5000 ms .*the replay of broadcasts\.config had not ended/,
  );
  assert.deepEqual(await served.versions(), [1, 1, 1]);
});
