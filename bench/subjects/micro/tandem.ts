/** The function that the HTTP edge calls. It is synchronous where the call is. */
import { RequestScope } from '../../../src/dispatch/scope.ts';
import { Dispatcher } from '../../../src/index.ts';
import { scanEnvelope } from '../../../src/jsonrpc/quick/scan.ts';
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
