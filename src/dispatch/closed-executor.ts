import { noPlace } from '../base/place.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import type { Procedure } from '../router/types.ts';
import type { Call } from './call.ts';
import { CallEnding } from './call-ending.ts';
import type { Executor } from './executor.ts';
import { cancelled } from './limit.ts';
import type { CallObserver } from './observer.ts';
import type { Routing } from './routing.ts';
import type { OpenStreams } from './streams/open-streams.ts';

/** The executor of a service that has ended: nothing runs, each call is answered as cancelled before it ran. */
export class ClosedExecutor implements Executor {
  readonly place = noPlace;
  readonly takesUnparsed = true;
  readonly #ending: CallEnding;

  constructor(observer: CallObserver | undefined) {
    // A refusal is short: no bound on replies is near it.
    this.#ending = new CallEnding(noPlace, Number.POSITIVE_INFINITY, observer);
  }

  execute(call: Call): Reply {
    return this.#ending.refuse(call, cancelled);
  }
}

/** What a service serves after its end. */
export function closedRouting(
  table: ReadonlyMap<string, Procedure>,
  streams: OpenStreams,
  observer: CallObserver | undefined,
): Routing {
  const executor = new ClosedExecutor(observer);
  return {
    table,
    placesByLength: false,
    isIncomplete: false,
    streams,
    executorFor: () => executor,
  };
}
