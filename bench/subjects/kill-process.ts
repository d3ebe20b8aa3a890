/** A call with an endless loop takes the only worker away: how long until the next call is answered? */
import { setTimeout as sleep } from 'node:timers/promises';
import { Dispatcher } from '../../src/index.ts';
import { expose } from '../process/expose.ts';
import { operands } from './fixed.ts';

const spareWorkers = Number(process.argv[2]);
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const dispatcher = new Dispatcher({
  modules: [new URL(`./procedures${extension}`, import.meta.url).href],
  workers: 1,
  spareWorkers,
  logLevel: 'silent',
});
await dispatcher.ready();

async function assertAnswer(method: string, answer: string): Promise<void> {
  const body = JSON.stringify({ id: 1, method, params: method === 'hang' ? {} : operands(1) });
  const reply = await dispatcher.dispatchText(body);
  if (reply?.includes(answer) !== true) throw new Error(`${body} gave ${reply}`);
}

/** Milliseconds from the answer of the killed call to the answer of the call behind it. */
async function kill(): Promise<number> {
  const { a, b } = operands(1);
  await assertAnswer('hang', '"code":-32001');
  const began = performance.now();
  await assertAnswer('pooledAdd', `"result":${a + b}`);
  const elapsed = performance.now() - began;
  while ((dispatcher.stats().pool?.spares ?? 0) < spareWorkers) await sleep(10);
  return elapsed;
}

expose(undefined, { kill });
