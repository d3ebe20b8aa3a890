import type { Answer } from './answer.ts';

/** What a server answers: everything, calls only, or only what operators ask for. */
export type Serves = 'all' | 'calls' | 'operations';

/** A request for a page of the console, or for a part of one. */
export interface PageRequest {
  /** What stands behind `/console/`, without the query; empty: the page itself. */
  readonly name: string;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** The console, as both servers see it. */
export interface ConsoleSite {
  /** Whether a request with this Host header is answered at all. */
  isServed(host: string | undefined): boolean;
  /** @param serves what the server answers on which the page is asked for: the page shows no more than that */
  page(request: PageRequest, serves: Serves): Answer | Promise<Answer>;
  /** The figures of the service; undefined: none are kept. */
  readonly figures: (() => Promise<Answer>) | undefined;
}
