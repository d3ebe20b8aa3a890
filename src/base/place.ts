/**
 * Where a call runs, as the executor there names itself. The name is what metrics, access log, spans, `stats()` and
 * `tandem top` show, so it is short, lower case and never changes.
 *
 * Open: an executor brings a name of its own, and whoever is told of calls takes any.
 */
export type Place = 'inline' | 'worker' | (string & Record<never, never>);

/** On the thread that answers. Calls here wait in no queue and travel nowhere. */
export const inlinePlace = 'inline';

/** In a worker thread of this process. */
export const workerPlace = 'worker';

/** On another machine. */
export const remotePlace = 'remote';

/** Of a call that was refused before it had a place. */
export const noPlace = 'none';
