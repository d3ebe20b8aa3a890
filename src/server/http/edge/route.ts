import type { RequestScope } from '../../../core/dispatch/scope.ts';
import type { Outcome } from '../../../core/protocol/reply.ts';
import type { Answer, BodyHandler, Made } from './answer.ts';
import type { RequestHead } from './request-head.ts';

export type Scheme = 'http' | 'https';

/** What a server answers: everything, calls only, or only what operators ask for. */
export type Serves = 'all' | 'calls' | 'operations';

/** The first line of a request, and what is known of its connection. */
export interface RequestLine {
  readonly route: Route;
  /** In capitals. */
  readonly method: string;
  /** As the client asked for it, without the query. */
  readonly path: string;
  /** The path by which the route was found: without the place at which a framework has mounted the handler. */
  readonly routed: string;
  /** Without its question mark. */
  readonly query: string;
  readonly scheme: Scheme;
  /** Whether only this machine can reach the server. */
  readonly isLocal: boolean;
}

/** What is served at a path: one row of the table, with what each method gets. */
export interface Route {
  /** One path; or all paths below one, written `/console/*`. */
  readonly path: string;
  readonly POST?: Action;
  /** Of HEAD, too. */
  readonly GET?: Action;
  readonly OPTIONS?: Action;
  /** Of each method that is not listed. */
  readonly others: Action;
  /** The pages that may read the answers; undefined: those that `corsOrigin` lists. */
  readonly readers?: 'any page' | 'own pages';
  /** Whether requests need not name a host that is served: load balancers and scrapers choose their address themselves. */
  readonly takesAnyHost?: boolean;
  /** Why a request is refused for where it comes from; undefined: it is not. */
  readonly refuse?: (line: RequestLine, head: RequestHead) => Answer | undefined;
  /** Whether a path below the route's own stands for something. The names of spans are taken from these alone. */
  readonly isKnown?: (line: RequestLine) => boolean;
}

export type Action = Calls | Reads | Answer;

/** Calls procedures. A POST has a body, which is read; other methods have none. `authenticate` is asked. */
export interface Calls {
  /** Who answers. @param head read here: it is used again for the next request */
  readonly call: (line: RequestLine, head: RequestHead) => BodyHandler;
  /** Whether a POST must have a body, of JSON. Otherwise the handler says what it takes. */
  readonly takesJson: boolean;
}

/** Answers a request that is no call: by an answer, or by a WebSocket. */
export interface Reads {
  readonly answer: (line: RequestLine, facts: ReadFacts) => Made | Promise<Made>;
  /** Whether `authenticate` is asked: where the answer says something about the procedures, or does something. */
  readonly hasAuth?: boolean;
  /** The answer to a caller who is refused; undefined: that of a call. */
  readonly refused?: (refusal: Outcome) => Answer;
}

/** What an answer may depend on, beside the first line. */
export interface ReadFacts {
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
  /** Cancelled when the client goes. */
  readonly scope: RequestScope;
}
