/** The floor: a thread and a MessagePort without a server. Each way, one message is sent in a turn of the event loop. */
import { Worker } from 'node:worker_threads';
import { operands } from '../fixed.ts';
import { assertRight, type HopSubject, variety } from './contract.ts';

export function createPort(): HopSubject {
  const source = import.meta.url;
  const extension = source.endsWith('.ts') ? '.ts' : '.js';
  const worker = new Worker(new URL(`./port-thread${extension}`, source));
  const params = Array.from({ length: variety }, (_, n) => JSON.stringify(operands(n)));
  const results = Array.from({ length: variety }, (_, n) => {
    const { a, b } = operands(n);
    return String(a + b);
  });
  // Replies come in the order of the calls: one thread, one port.
  const waiting: (() => void)[] = [];
  const expected: number[] = [];
  let done = 0;
  let frame: string[] = [];
  worker.on('message', (replies: string[]) => {
    for (const reply of replies) {
      assertRight(reply === results[expected[done] as number]);
      (waiting[done] as () => void)();
      done++;
    }
    if (done < waiting.length) return;
    waiting.length = 0;
    expected.length = 0;
    done = 0;
  });
  return {
    call: (n) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        expected.push(n);
        if (frame.push(params[n] as string) > 1) return;
        setImmediate(() => {
          worker.postMessage(frame);
          frame = [];
        });
      }),
  };
}
