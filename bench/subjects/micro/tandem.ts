/** The function that the HTTP edge calls. It answers at once, unless inline calls have had their time of this turn. */
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { scanEnvelope } from '../../../src/core/protocol/read.ts';
import type { Reply, ReplySink } from '../../../src/core/protocol/reply.ts';
import { Dispatcher } from '../../../src/index.ts';
import router from '../procedures-inline.ts';
import type { MicroSubject } from './contract.ts';

const dispatcher = new Dispatcher({ router, logLevel: 'error' });
await dispatcher.ready();

/** The reply of the call that was made last; undefined: it has none yet. */
let last: Reply;
let onLast: ((reply: string) => void) | undefined;
const sink: ReplySink = {
  onReply: (reply) => {
    last = reply;
    onLast?.(reply as string);
  },
};

function handle(text: string): string | Promise<string> {
  last = undefined;
  onLast = undefined;
  dispatcher.handle(text, new RequestScope(), sink);
  if (last !== undefined) return last as string;
  return new Promise((resolve) => {
    onLast = resolve;
  });
}

/** A function that answers at once may give a promise at times. */
export const mayWait = true;

export const subject: MicroSubject = {
  envelope: (text) => scanEnvelope(text, text, 0, false),
  one: handle,
  batch: handle,
};
