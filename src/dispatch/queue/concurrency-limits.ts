import { UnitQueue } from './unit-queue.ts';
import type { Unit } from './call-group.ts';

interface Gate {
  running: number;
  readonly waiting: UnitQueue;
}

/**
 * Bounds how many calls of one procedure the workers hold at a time (`maxConcurrency`), so that a heavy
 * one can't take them all. What exceeds it waits here and lets others pass.
 */
export class Gates {
  readonly #gates = new Map<string, Gate>();

  /** Calls that wait at a gate. */
  get size(): number {
    let size = 0;
    for (const { waiting } of this.#gates.values()) size += waiting.size;
    return size;
  }

  /** What they are expected to cost a worker, microseconds. */
  get workUs(): number {
    let workUs = 0;
    for (const { waiting } of this.#gates.values()) workUs += waiting.workUs;
    return workUs;
  }

  /** Whether a unit may go to a worker now. */
  mayPass(unit: Unit): boolean {
    const { limited } = unit;
    if (limited === undefined || unit.isInside) return true;
    return this.#gateOf(limited.name).running < limited.maxConcurrency;
  }

  /** Keeps a unit that may not pass, until another leaves. */
  keep(unit: Unit): void {
    if (unit.limited !== undefined) this.#gateOf(unit.limited.name).waiting.push(unit);
  }

  /** A unit goes to a worker. */
  enter(unit: Unit): void {
    if (unit.limited === undefined || unit.isInside) return;
    unit.isInside = true;
    this.#gateOf(unit.limited.name).running++;
  }

  /** A unit has its answer. Gives the one that may go on in its place. */
  leave(unit: Unit): Unit | undefined {
    const { limited } = unit;
    if (limited === undefined) return undefined;
    const gate = this.#gateOf(limited.name);
    if (unit.isInside) gate.running--;
    unit.isInside = false;
    // One that was let go and then given up, in the queue, has another behind it all the same.
    return gate.running < limited.maxConcurrency ? gate.waiting.shift() : undefined;
  }

  /** The last to come of those that wait at a gate. */
  newest(): Unit | undefined {
    let newest: Unit | undefined;
    for (const { waiting } of this.#gates.values()) {
      const unit = waiting.newest();
      if (
        unit !== undefined &&
        (newest === undefined || unit.waitingSince >= newest.waitingSince)
      ) {
        newest = unit;
      }
    }
    return newest;
  }

  *[Symbol.iterator](): Generator<Unit> {
    for (const { waiting } of this.#gates.values()) yield* waiting;
  }

  #gateOf(name: string): Gate {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      gate = { running: 0, waiting: new UnitQueue() };
      this.#gates.set(name, gate);
    }
    return gate;
  }
}
