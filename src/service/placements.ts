import { inlinePlace, workerPlace } from '../base/place.ts';
import type { Config } from '../config/config.ts';
import { type Call, paramsLength } from '../dispatch/call.ts';
import type { Executor } from '../dispatch/executor.ts';
import { InlineExecutor, type InlineHost } from '../dispatch/inline.ts';
import { LearnedPlacement } from '../dispatch/learned-placement.ts';
import {
  blockedToMove,
  decidePlacement,
  isMeasured,
  mayMove,
  movedForBlocking,
  type PlacementDecision,
  type PlacementFacts,
} from '../dispatch/placement.ts';
import type { Log } from '../observe/log.ts';
import type { Pool } from '../pool/pool.ts';
import { usesTopics } from '../router/stream/topic.ts';
import type { Procedure } from '../router/types.ts';
import type { FrontEndBlockers } from './front-end-blockers.ts';

/** The pools of one loading, by the group that their workers are; undefined: the workers of all other procedures. */
export type Pools = ReadonlyMap<string | undefined, Pool>;

/** Whom a move is told, and the options that decide it. */
export interface PlacementContext {
  readonly config: Config;
  readonly log: Log;
  readonly blockers: FrontEndBlockers;
}

/** Where a procedure's calls run: fixed, or moved by measurement. */
interface Placed {
  /** Changes once, where the procedure has blocked the front end. */
  fixed: PlacementDecision;
  executor: Executor;
  /** Runs the calls of a procedure that measurement has moved to this thread, and goes on timing them. */
  readonly inline: InlineExecutor;
  readonly measured: LearnedPlacement | undefined;
  /** How often it has blocked the front end since it was loaded, and for how long at most, milliseconds. */
  blocked: number;
  longestMs: number;
}

/** What to do about a procedure that blocks the front end. */
const advice = {
  moves: `async does not make CPU work harmless; it moves to the workers at the ${blockedToMove}rd time, or declare placement: 'worker'`,
  moved: 'it runs in the workers now',
  declared: "it stays inline, as it is declared; declare placement: 'worker'",
  stream: "a stream is never moved; declare placement: 'worker'",
  topics:
    "it stays on the main thread, where the topics of this process live; declare placement: 'worker' if it uses none",
  alone: 'serve its router with the option modules, and it can run in workers',
};

/**
 * Where the calls of each procedure of one loading run: where it declares, or where measurement, or a look at who holds up
 * the front end, has moved it.
 */
export class Placements {
  readonly #context: PlacementContext;
  readonly #host: InlineHost;
  readonly #pools: Pools;
  readonly #placed = new Map<Procedure, Placed>();

  constructor(context: PlacementContext, host: InlineHost, pools: Pools) {
    this.#context = context;
    this.#host = host;
    this.#pools = pools;
  }

  /** @param length of the call's params, UTF-16 units */
  executorFor(procedure: Procedure, length: number): Executor {
    const { executor, inline, measured } = this.#placedOf(procedure);
    return measured?.placeOf(length) === inlinePlace ? inline : executor;
  }

  of(procedure: Procedure): PlacementDecision {
    const { fixed, measured } = this.#placedOf(procedure);
    return measured?.decision ?? fixed;
  }

  /** A call ran in a worker for `us` microseconds. */
  recordRun(call: Call, us: number): void {
    this.#placedOf(call.procedure).measured?.record(us, workerPlace, paramsLength(call));
  }

  /** Nothing starts inline any more. */
  close(): void {
    for (const { inline } of this.#placed.values()) inline.close();
  }

  #placedOf(procedure: Procedure): Placed {
    let placed = this.#placed.get(procedure);
    if (placed === undefined) {
      placed = this.#place(procedure);
      this.#placed.set(procedure, placed);
    }
    return placed;
  }

  #place({ name, placement, group, isAsync, stream }: Procedure): Placed {
    const pool = this.#pools.get(group);
    const { config, log } = this.#context;
    const isStream = stream !== undefined;
    const facts = { placement, group, isAsync, isStream, hasWorkers: pool !== undefined };
    const fixed = decidePlacement(facts);
    const measured = isMeasured(facts, config)
      ? new LearnedPlacement(fixed, config, ({ place, reason }) =>
          log.info({ event: 'placement', method: name, place, reason }, 'a procedure moved'),
        )
      : undefined;
    const onRun =
      measured &&
      ((call: Call, us: number): void => measured.record(us, inlinePlace, paramsLength(call)));
    const onBlocked = (ms: number): void => this.#noteBlocked(name, placed, facts, ms);
    const inline = new InlineExecutor(this.#host, { onRun, onBlocked });
    const executor = pool?.place === fixed.place ? pool : inline;
    const placed: Placed = { fixed, executor, inline, measured, blocked: 0, longestMs: 0 };
    return placed;
  }

  /** A procedure has held the front end for so long. */
  #noteBlocked(name: string, placed: Placed, facts: PlacementFacts, ms: number): void {
    const { blockers, log } = this.#context;
    const pool = this.#pools.get(undefined);
    placed.blocked++;
    placed.longestMs = Math.max(placed.longestMs, ms);
    blockers.note(name, ms, adviceOf(placed, facts));
    if (!mayMove(facts) || pool === undefined || placed.executor === pool) return;
    if (placed.blocked < blockedToMove) return;
    // The procedure may publish to a topic or subscribe to it, which it could not do in a worker.
    if (usesTopics()) {
      const { place, reason } = placed.fixed;
      if (placed.blocked === blockedToMove) {
        log.warn(
          { event: 'placement', method: name, place, reason },
          `not moved: ${advice.topics}`,
        );
      }
      return;
    }
    placed.fixed = movedForBlocking(placed.blocked, placed.longestMs);
    placed.executor = pool;
    const { place, reason } = placed.fixed;
    log.warn(
      { event: 'placement', method: name, place, reason },
      'a procedure moved: it no longer shares the memory of its module with procedures that run inline',
    );
  }
}

function adviceOf({ fixed }: Placed, facts: PlacementFacts): string {
  if (!facts.hasWorkers) return advice.alone;
  if (facts.placement === 'inline') return advice.declared;
  if (facts.isStream) return advice.stream;
  if (fixed.place !== inlinePlace || !facts.isAsync) return advice.moved;
  return usesTopics() ? advice.topics : advice.moves;
}
