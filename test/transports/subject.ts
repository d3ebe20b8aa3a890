import type { Dispatcher } from '../../src/index.ts';
import type { ServerName } from '../servers.ts';

/**
 * What some transports have and others have not:
 *
 * - `messages`: what it carries is JSON-RPC itself, so that anything can be sent: batches, notifications, what is no JSON
 * - `metadata`: a request brings metadata, a time limit and a trace context
 * - `authenticates`: it asks who calls
 * - `says-nothing`: it tells a caller that there is nothing to answer (HTTP: 204)
 * - `counts-bodies`: its bodies count in the service's memory
 * - `keeps-order`: answers of one connection come in the order of their requests
 * - `reads-on`: it answers a message over its limit, and reads on behind it
 * - `pieces`: its messages come in pieces, or not whole
 * - `sees-leaving`: it knows when a caller has gone
 */
export type Ability =
  | 'messages'
  | 'metadata'
  | 'authenticates'
  | 'says-nothing'
  | 'counts-bodies'
  | 'keeps-order'
  | 'reads-on'
  | 'pieces'
  | 'sees-leaving';

/** What a caller says beside a message. */
export interface SentFacts {
  readonly tenant?: string;
  readonly token?: string;
  readonly timeoutMs?: number;
  readonly traceparent?: string;
}

/** One caller's connection. */
export interface Connection {
  /**
   * Sends one JSON-RPC message. Resolves when it is handed to the system.
   *
   * @param pieces in so many pieces, which arrive one after the other
   */
  send(message: string | Uint8Array, facts?: SentFacts, pieces?: number): Promise<void>;
  /** Sends all of a message but its end. */
  sendPart(message: string): Promise<void>;
  /** The next answer as text; undefined: the transport says that there is nothing to answer. */
  receive(): Promise<string | undefined>;
  /** Goes, whatever is on its way. */
  leave(): void;
}

/** What the hook of a transport is given here: what every transport with `authenticates` can tell. */
export type AskCaller = (token: string | undefined) => unknown;

export interface TransportOptions {
  /** Of one message; more is refused. */
  readonly maxMessageBytes: number;
  /** undefined: nobody is asked. */
  readonly askCaller: AskCaller | undefined;
}

/** A transport that serves. */
export interface Server {
  /** Rejects where nobody is taken any more. */
  connect(): Promise<Connection>;
  /** Takes nobody new, answers what was accepted, ends. Idempotent. */
  close(): Promise<void>;
}

/** A transport, as the suite sees it. */
export interface Subject {
  readonly name: string;
  /** The server of this package that it needs. */
  readonly server?: ServerName;
  readonly can: readonly Ability[];
  /** Whether a message can be sent at all: a line can't hold a line feed. */
  carries(message: string | Uint8Array): boolean;
  /** Puts the transport before a service; metadata `x-tenant` is what procedures may see. */
  serve(service: Dispatcher, options: TransportOptions): Promise<Server>;
}
