import type { ScopeFacts } from '../../dispatch/scope.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { SocketTrace } from './span.ts';

/** What is known of a client since its upgrade. It holds for each message. */
export interface SocketFacts extends ScopeFacts, SocketTrace {
  readonly remoteAddress: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** What `authenticate` said of the client, as JSON text; undefined: nothing. */
  readonly authText: string | undefined;
}

/** The facts of an upgrade, before anybody was asked who calls. Reads the head: it may be used again afterwards. */
export function socketFacts(
  { forwarded: headers, timeoutMs, traceparent, tracestate }: RequestHead,
  known: Pick<SocketFacts, 'remoteAddress' | 'callerHeader' | 'path' | 'route'>,
): Omit<SocketFacts, 'authText'> {
  return { headers, timeoutMs, traceparent, tracestate, ...known };
}
