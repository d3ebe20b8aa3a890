import { type Place, workerPlace } from '../base/place.ts';
import {
  movePlacement,
  type PlacementDecision,
  type PlacementLimits,
  runsNeeded,
} from './placement.ts';

/** Params up to this many characters are never thought unusually large. */
const smallParams = 256;

/** What comes with params so much longer than any measured may cost so much more, too. */
const unusualFactor = 4;

/** A slow past (a cold start, another kind of input) is forgotten after this many runs per move asked for. */
const windowFactor = 4;

/** Where a procedure of `auto` placement runs, learned from its runs. */
export class LearnedPlacement {
  readonly #limits: PlacementLimits;
  readonly #onMove: (decision: PlacementDecision) => void;
  #decision: PlacementDecision;
  #runs = 0;
  #slowRuns = 0;
  #demotions = 0;
  #longestParams = smallParams;

  constructor(
    start: PlacementDecision,
    limits: PlacementLimits,
    onMove: (decision: PlacementDecision) => void,
  ) {
    this.#decision = start;
    this.#limits = limits;
    this.#onMove = onMove;
  }

  get decision(): PlacementDecision {
    return this.#decision;
  }

  /** @param paramsLength characters or bytes of the params as they came */
  placeOf(paramsLength: number): Place {
    // A procedure measured on small input stays off this thread with large input.
    return paramsLength > this.#longestParams * unusualFactor ? workerPlace : this.#decision.place;
  }

  /** A run that ended with a result. Refused params and errors tell nothing of the procedure's cost. */
  record(us: number, place: Place, paramsLength: number): void {
    if (place !== this.#decision.place) return; // left before the procedure moved
    this.#runs++;
    if (us >= this.#limits.inlineBelowUs) this.#slowRuns++;
    else if (paramsLength > this.#longestParams) this.#longestParams = paramsLength;
    const move = movePlacement(
      {
        place,
        runs: this.#runs,
        slowRuns: this.#slowRuns,
        demotions: this.#demotions,
        lastUs: us,
      },
      this.#limits,
    );
    if (move === undefined) {
      if (place === workerPlace && this.#runs >= windowFactor * runsNeeded(this.#demotions))
        this.#forget();
      return;
    }
    if (move.place === workerPlace) this.#demotions++;
    this.#forget();
    this.#longestParams = move.place === workerPlace ? smallParams : this.#longestParams;
    this.#decision = move;
    this.#onMove(move);
  }

  #forget(): void {
    this.#runs = 0;
    this.#slowRuns = 0;
  }
}
