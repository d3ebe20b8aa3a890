import { parentPort } from 'node:worker_threads';
import { add, checkedAdd } from '../work.ts';

parentPort?.on('message', (frame: string[]) => {
  parentPort?.postMessage(frame.map((params) => String(add(checkedAdd(JSON.parse(params))))));
});
