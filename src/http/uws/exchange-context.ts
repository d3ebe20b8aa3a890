import type { Service } from '../../dispatch/service.ts';
import type { BodyDeadlines } from '../edge/body-deadlines.ts';
import type { Peers } from '../edge/peer.ts';
import type { ReplyTurns } from '../edge/reply-turns.ts';
import type { EventStreamOptions } from '../event-stream/event-stream.ts';
import type { ResponseContext } from './response.ts';

/** What all requests of one server share. */
export interface ExchangeContext extends ResponseContext {
  readonly service: Service;
  readonly warn: (message: string) => void;
  /** Undefined: no proxy is trusted. */
  readonly peers: Peers | undefined;
  readonly bodyDeadlines: BodyDeadlines;
  readonly bodyTimeoutMs: number;
  readonly eventStreams: EventStreamOptions;
  readonly turns: ReplyTurns;
}
