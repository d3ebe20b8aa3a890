/** The public way to use the dispatcher without HTTP: a promise in any case. */
import { Dispatcher } from '../../../src/index.ts';
import { readBody } from '../../../src/jsonrpc/read.ts';
import router from '../procedures-inline.ts';
import type { MicroSubject } from './contract.ts';

const dispatcher = new Dispatcher({ router, logLevel: 'error' });
await dispatcher.ready();

async function dispatch(text: string): Promise<string> {
  return (await dispatcher.dispatchText(text)) ?? '';
}

export const subject: MicroSubject = {
  // The exact reader, which batches and all that the quick one leaves go through.
  envelope: (text) => readBody(text, { maxDepth: 64, maxBatch: 1000, strict: false }),
  one: dispatch,
  batch: dispatch,
};
