import type { Exchange } from './exchange.ts';
import type { Outcome } from './outcome.ts';
import type { Call } from './request.ts';

interface Waiting {
  readonly calls: readonly Call[];
  readonly signal: AbortSignal;
  readonly expires: number;
  readonly resolve: (outcomes: Outcome[]) => void;
  readonly reject: (reason: unknown) => void;
}

/** An exchange that collects the calls of one turn of the event loop and sends them as one batch. */
export function collect(exchange: Exchange, max: number): Exchange {
  let waiting: Waiting[] = [];
  const flush = (): void => {
    const group = waiting.filter(({ signal }) => !signal.aborted);
    waiting = [];
    if (group.length > 0) sendTogether(exchange, group);
  };
  return (calls, signal, expires) =>
    new Promise((resolve, reject) => {
      waiting.push({ calls, signal, expires, resolve, reject });
      if (waiting.length >= max) flush();
      else if (waiting.length === 1) setTimeout(flush);
    });
}

function sendTogether(exchange: Exchange, group: readonly Waiting[]): void {
  // When one caller aborts, the others still get their replies: the request is aborted with its last caller.
  const stop = new AbortController();
  let left = group.length;
  for (const { signal } of group) {
    signal.addEventListener('abort', () => {
      left -= 1;
      if (left === 0) stop.abort(signal.reason);
    });
  }
  const calls = group.flatMap((each) => each.calls);
  // The server gets one deadline for all calls, the latest. Each caller also keeps its own here.
  const expires = Math.max(...group.map((each) => each.expires));
  exchange(calls, stop.signal, expires).then(
    (outcomes) => {
      for (const each of group) each.resolve(outcomes.splice(0, each.calls.length));
    },
    (reason) => {
      for (const { reject } of group) reject(reason);
    },
  );
}
