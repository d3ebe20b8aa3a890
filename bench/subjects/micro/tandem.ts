/** The function that the HTTP edge calls. It is synchronous where the call is. */
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { scanEnvelope } from '../../../src/core/protocol/read.ts';
import type { Reply, ReplySink } from '../../../src/core/protocol/reply.ts';
import { Dispatcher } from '../../../src/index.ts';
import router from '../procedures-inline.ts';
import type { MicroSubject } from './contract.ts';

const dispatcher = new Dispatcher({ router, logLevel: 'error' });
await dispatcher.ready();

let last: Reply;
const sink: ReplySink = {
  onReply: (reply) => {
    last = reply;
  },
};

function handle(text: string): string {
  dispatcher.handle(text, new RequestScope(), sink);
  return last as string;
}

export const subject: MicroSubject = {
  envelope: (text) => scanEnvelope(text, text, 0, false),
  one: handle,
  batch: handle,
};
