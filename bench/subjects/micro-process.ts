/** Measures one library in a process of its own: code that two libraries share can't be deoptimised by the other. */
import { isDeepStrictEqual } from 'node:util';
import Benchmark from 'benchmark';
import { expose } from '../process/expose.ts';
import { median } from '../statistics.ts';
import { firstId, operands, replyTo } from './fixed.ts';
import type { MicroSubject } from './micro/contract.ts';

export interface MicroJob {
  readonly name: keyof MicroSubject;
  readonly seconds: number;
}

/** So many distinct inputs that no cache holds an input, or a value out of it, until it comes again. */
const variety = 512;
const batchLength = 100;

const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const { subject, mayWait } = (await import(`./micro/${process.argv[2]}${extension}`)) as {
  subject: MicroSubject;
  mayWait?: boolean;
};

function call(n: number): unknown {
  return { jsonrpc: '2.0', id: firstId + n, method: 'add', params: operands(n) };
}

const numbers = Array.from({ length: variety }, (_, n) => n);
const batches = Array.from({ length: 16 }, (_, n) => {
  return Array.from({ length: batchLength }, (_, i) => n * batchLength + i);
});
const inputs = {
  envelope: numbers.map((n) => JSON.stringify(call(n))),
  one: numbers.map((n) => JSON.stringify(call(n))),
  batch: batches.map((batch) => JSON.stringify(batch.map(call))),
};

async function verify(name: keyof MicroSubject): Promise<void> {
  const run = subject[name];
  if (run === undefined) throw new Error(`no ${name}`);
  for (const [i, text] of inputs[name].entries()) {
    const reply = await run(text);
    if (name === 'envelope') continue;
    const expected = name === 'batch' ? batches[i]?.map(replyTo) : replyTo(i);
    if (isDeepStrictEqual(JSON.parse(String(reply)), expected)) continue;
    throw new Error(`${text} gave ${String(reply)}`);
  }
}

/** Microseconds of one operation. */
async function measure({ name, seconds }: MicroJob): Promise<number> {
  await verify(name);
  const run = subject[name] as (text: string) => unknown;
  const texts = inputs[name];
  const isAsync = mayWait === true || run(texts[0] ?? '') instanceof Promise;
  let sink: unknown;
  // One run goes through all inputs: hundreds of operations share the benchmark's own cost per run.
  const sync = (): void => {
    for (const text of texts) sink = run(text);
  };
  const asynchronous = async (deferred: Benchmark.Deferred): Promise<void> => {
    for (const text of texts) {
      const reply = run(text);
      sink = reply instanceof Promise ? await reply : reply;
    }
    deferred.resolve();
  };
  const benchmark = new Benchmark({
    fn: isAsync ? asynchronous : sync,
    defer: isAsync,
    async: true,
    maxTime: seconds,
    minTime: seconds / 10,
    minSamples: 1,
  });
  await new Promise((resolve) => {
    benchmark.on('complete', resolve);
    benchmark.run();
  });
  if (benchmark.error !== undefined) throw benchmark.error as Error;
  if (sink === undefined) throw new Error('nothing was computed');
  return (median(benchmark.stats.sample) * 1e6) / texts.length;
}

expose(undefined, { measure });
