import type { Bench } from './bench.ts';
import type { Abilities } from './subject.ts';

/** One sentence of the contract (src/core/dispatch/executor.ts), and how an executor shows that it keeps it. */
export interface Clause {
  readonly name: string;
  /** Whom it holds for; undefined: for every executor. */
  readonly holdsFor?: (abilities: Abilities) => boolean;
  /** It closes the executor, which therefore is its own. */
  readonly closes?: true;
  readonly check: (bench: Bench) => Promise<void>;
}

export const runs = ({ runs: does }: Abilities): boolean => does;
export const stopsThreads = ({ stopsThreads: does }: Abilities): boolean => does;
/** They stream, too. */
export const streams = (abilities: Abilities): boolean => runs(abilities) && abilities.streams;
export const streamsInThreads = (abilities: Abilities): boolean =>
  streams(abilities) && stopsThreads(abilities);
/** Calls of theirs run together. */
export const batches = (abilities: Abilities): boolean => runs(abilities) && abilities.batches;
export const batchesInThreads = (abilities: Abilities): boolean =>
  batches(abilities) && stopsThreads(abilities);
