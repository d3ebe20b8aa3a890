/** The function that the HTTP edge calls. It is synchronous where the call is. */
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { scanEnvelope } from '../../../src/core/protocol/read.ts';
import { Dispatcher } from '../../../src/index.ts';
import router from '../procedures-inline.ts';
import type { MicroSubject } from './contract.ts';

const dispatcher = new Dispatcher({ router, logLevel: 'error' });
await dispatcher.ready();

function handle(text: string): string {
  return dispatcher.handle(text, new RequestScope()) as string;
}

export const subject: MicroSubject = {
  envelope: (text) => scanEnvelope(text, text, 0, false),
  one: handle,
  batch: handle,
};
