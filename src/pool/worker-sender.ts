import { clockMs } from '../base/clock.ts';
import type { Refusal } from '../dispatch/limit.ts';
import { passUs } from '../dispatch/queue/ageing.ts';
import type { CallTrain } from '../dispatch/queue/call-train.ts';
import type { Intake } from '../dispatch/queue/intake.ts';
import type { Sender } from '../dispatch/queue/waiting-trains.ts';
import { assign, refusalOfBusy, refusalOfCrowded } from './assignment.ts';
import type { ServingWorkers } from './workers/roster.ts';

/** Sends waiting trains to workers: one frame for each worker. */
export class WorkerSender implements Sender {
  readonly #count: number;
  readonly #workers: ServingWorkers;
  readonly onSent: () => void;

  /**
   * @param count how many workers take all calls, once all have started
   * @param workers kept up to date by the roster
   */
  constructor(count: number, workers: ServingWorkers, onSent: () => void) {
    this.#count = count;
    this.#workers = workers;
    this.onSent = onSent;
  }

  /** A train that finds all workers at rest goes at once, and the calls behind it share the next frame. */
  get isIdle(): boolean {
    return this.#workers.active.every((worker) => worker.inFlight === 0);
  }

  send(waiting: Intake, refuse: (train: CallTrain, refusal: Refusal) => void): void {
    const { active, lane } = this.#workers;
    for (;;) {
      const next = assign(waiting.heads(), active, lane);
      if (next === undefined) break;
      const { train, worker } = next;
      if (worker === 'crowded') {
        refuse(train, refusalOfCrowded(active, clockMs()));
        continue;
      }
      // A worker that holds back shows that no worker is idle: a long train would find none either.
      if (worker.holdsBack(waiting.sizeBeside(train))) break;
      const isIdle = worker.loadUs === 0;
      waiting.take(train, worker === lane ? 0 : passUs(train.nextUs, isIdle));
      worker.add(train);
    }
    for (const worker of active) worker.flush();
    lane?.flush();
  }

  defer(act: () => void): void {
    setImmediate(act);
  }

  overload(queuedUs: number): Refusal {
    return refusalOfBusy(this.#workers.active, queuedUs, this.#count);
  }
}
