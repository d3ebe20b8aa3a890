import type { CallGroup } from './call-group.ts';
import { GroupQueue } from './group-queue.ts';

interface Gate {
  running: number;
  readonly waiting: GroupQueue;
}

/**
 * Bounds how many calls of one procedure the workers hold at a time (`maxConcurrency`), so that a heavy
 * one can't take them all. What exceeds it waits here and lets others pass.
 */
export class ConcurrencyLimits {
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

  /** Whether a group may go to a worker now. */
  mayPass(group: CallGroup): boolean {
    const { limited } = group;
    if (limited === undefined || group.isInside) return true;
    return this.#gateOf(limited.name).running < limited.maxConcurrency;
  }

  /** Keeps a group that may not pass, until another leaves. */
  keep(group: CallGroup): void {
    if (group.limited !== undefined) this.#gateOf(group.limited.name).waiting.push(group);
  }

  /** A group goes to a worker. */
  enter(group: CallGroup): void {
    if (group.limited === undefined || group.isInside) return;
    group.isInside = true;
    this.#gateOf(group.limited.name).running++;
  }

  /** A group has its answer. Gives the one that may go on in its place. */
  leave(group: CallGroup): CallGroup | undefined {
    const { limited } = group;
    if (limited === undefined) return undefined;
    const gate = this.#gateOf(limited.name);
    if (group.isInside) gate.running--;
    group.isInside = false;
    // One that was let go and then given up, in the queue, has another behind it all the same.
    return gate.running < limited.maxConcurrency ? gate.waiting.shift() : undefined;
  }

  /** The last to come of those that wait at a gate. */
  newest(): CallGroup | undefined {
    let newest: CallGroup | undefined;
    for (const { waiting } of this.#gates.values()) {
      const group = waiting.newest();
      if (
        group !== undefined &&
        (newest === undefined || group.waitingSince >= newest.waitingSince)
      ) {
        newest = group;
      }
    }
    return newest;
  }

  *[Symbol.iterator](): Generator<CallGroup> {
    for (const { waiting } of this.#gates.values()) yield* waiting;
  }

  #gateOf(name: string): Gate {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      gate = { running: 0, waiting: new GroupQueue() };
      this.#gates.set(name, gate);
    }
    return gate;
  }
}
