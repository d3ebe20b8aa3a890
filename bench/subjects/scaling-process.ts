import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { Dispatcher } from '../../src/index.ts';
import { expose } from '../process/expose.ts';
import { burn } from './work.ts';

export interface ScalingJob {
  readonly steps: number;
  readonly seconds: number;
}

const workers = Number(process.argv[2]);
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const dispatcher = new Dispatcher({
  modules: [new URL(`./procedures${extension}`, import.meta.url).href],
  workers,
  logLevel: 'error',
});
await dispatcher.ready();

/** Calls per second, with so many calls in flight that no worker is idle. */
async function run({ steps, seconds }: ScalingJob): Promise<number> {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'burn', params: { steps } });
  const expected = JSON.stringify({ jsonrpc: '2.0', id: 1, result: burn({ steps }) });
  let calls = 0;
  const began = performance.now();
  const until = began + seconds * 1000;
  const lane = async (): Promise<void> => {
    while (performance.now() < until) {
      const reply = await dispatcher.handle(text, new RequestScope());
      if (reply !== expected) throw new Error(`a wrong answer: ${String(reply)}`);
      calls++;
    }
  };
  await Promise.all(Array.from({ length: workers * 4 }, lane));
  return calls / ((performance.now() - began) / 1000);
}

expose(undefined, { run });
