/** The dispatcher's public API without HTTP, which always returns a promise. */

import { readBody } from '../../../src/core/protocol/read.ts';
import { Dispatcher } from '../../../src/index.ts';
import router from '../procedures-inline.ts';
import type { MicroSubject } from './contract.ts';

const dispatcher = new Dispatcher({ router, logLevel: 'error' });
await dispatcher.ready();

async function dispatch(text: string): Promise<string> {
  return (await dispatcher.dispatchText(text)) ?? '';
}

export const subject: MicroSubject = {
  // readBody reads batches, and single calls that the quick reader leaves.
  envelope: (text) => readBody(text, { maxDepth: 64, maxBatch: 1000, strict: false }),
  one: dispatch,
  batch: dispatch,
};
