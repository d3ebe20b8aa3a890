/** Calls of one procedure that takes single calls, or many at once, with so many in flight, in process. */
import { isDeepStrictEqual } from 'node:util';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { promised } from '../../src/core/protocol/reply.ts';
import { Dispatcher } from '../../src/index.ts';
import { expose } from '../process/expose.ts';
import { expected, paramsOf, type Work } from './batch-procedures.ts';
import type { HopResult } from './hop-process.ts';

export interface BatchesJob {
  readonly work: Work;
  readonly inFlight: number;
  readonly seconds: number;
}

/** So many distinct calls. */
const variety = 1024;

const form = process.argv[2] ?? '';
const source = import.meta.url;
const extension = source.endsWith('.ts') ? '.ts' : '.js';
const dispatcher = new Dispatcher({
  modules: [new URL(`./batch-procedures${extension}`, source).href],
  workers: 1,
  logLevel: 'error',
});
await dispatcher.ready();

interface Prepared {
  readonly texts: readonly string[];
  readonly replies: readonly string[];
}
const prepared = new Map<Work, Prepared>();

/** Made once, and each answer is checked once. */
async function prepare(work: Work): Promise<Prepared> {
  const known = prepared.get(work);
  if (known !== undefined) return known;
  const numbers = Array.from({ length: variety }, (_, n) => n);
  const texts = numbers.map((id) =>
    JSON.stringify({ jsonrpc: '2.0', id, method: `${work}.${form}`, params: paramsOf(work, id) }),
  );
  const replies = await Promise.all(texts.map((text) => ask(text)));
  for (const [n, reply] of replies.entries()) {
    const { result } = JSON.parse(reply) as { result: unknown };
    if (!isDeepStrictEqual(result, expected(work, n))) {
      throw new Error(`${texts[n]} gave ${reply}`);
    }
  }
  const made = { texts, replies };
  prepared.set(work, made);
  return made;
}

async function ask(text: string): Promise<string> {
  return String(await promised((sink) => dispatcher.handle(text, new RequestScope(), sink)));
}

async function run({ work, inFlight, seconds }: BatchesJob): Promise<HopResult> {
  const { texts, replies } = await prepare(work);
  let calls = 0;
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const until = began + seconds * 1000;
  const lane = async (): Promise<void> => {
    while (performance.now() < until) {
      const n = calls++ % variety;
      if ((await ask(texts[n] as string)) !== replies[n]) throw new Error('a wrong answer');
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const elapsed = performance.now() - began;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { perSecond: calls / (elapsed / 1000), cpuPerCall: (user + system) / calls };
}

expose(undefined, { run });
