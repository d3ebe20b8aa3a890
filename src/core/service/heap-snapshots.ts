import { open, rm, stat } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join, resolve } from 'node:path';
import { messageOf } from '../base/message-of.ts';
import type { Config } from '../config/config.ts';
import { residentMemory } from '../observe/process-gauges.ts';
import type { CountersByGroup } from '../workers/options.ts';
import type { Pool } from '../workers/pool.ts';
import { HeapSnapshot, type PoolWorker } from '../workers/worker.ts';
import { type NamedWorker, type Pools, workersOf } from './deployment.ts';

/** Which worker's heap; what is left out is the worker with the largest heap. */
export interface HeapOrder {
  readonly group?: string | undefined;
  /** Its number in its group, as in the metrics and in the names of threads. */
  readonly worker?: number | undefined;
}

export interface HeapFile {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
  readonly worker: number;
  readonly group: string | undefined;
}

/** V8 needs 10 to 14 bytes of memory for each byte of the heap (Node 20 and 24), and does not give all of them back. */
const memoryPerHeap = 14;

/** What a worker holds that has not read its memory yet. */
const smallestHeap = 10 * 1024 ** 2;

/** Snapshots of the heaps of workers, into files that only the user of the service can read: they hold all params and secrets. */
export class HeapSnapshots {
  readonly #config: Pick<Config, 'heapDir' | 'maxProcessMb'>;
  readonly #counters: CountersByGroup;
  #isUnderWay = false;

  constructor(config: Pick<Config, 'heapDir' | 'maxProcessMb'>, counters: CountersByGroup) {
    this.#config = config;
    this.#counters = counters;
  }

  /**
   * Has one worker write a snapshot of its heap, after its last call and stream. A fresh worker takes its place. No call is lost.
   *
   * @param pools those of the modules that serve
   * @throws Error (rejects) with one line; no file is left then
   */
  async write(pools: Pools, order: HeapOrder): Promise<HeapFile> {
    const { heapDir } = this.#config;
    if (heapDir === '') {
      throw new Error(
        'start the service with --heap-dir FOLDER: a snapshot of the heap holds all params and secrets, so the operator says where it may lie',
      );
    }
    if (this.#isUnderWay) throw new Error('another snapshot is being written: wait for its end');
    const { group, pool, worker, number } = this.#choose(pools, order);
    this.#assertRoom(worker);
    const name = `${process.pid}-${group ?? 'worker'}-${number}-${new Date().toISOString().replaceAll(':', '')}`;
    const path = join(resolve(heapDir), `${name}.heapsnapshot`);
    this.#isUnderWay = true;
    try {
      await createFile(path);
      return { path, bytes: await takeHeap(pool, worker, path), worker: number, group };
    } finally {
      this.#isUnderWay = false;
    }
  }

  #choose(pools: Pools, order: HeapOrder): NamedWorker {
    const { group, worker: wanted } = order;
    const isOne = group !== undefined || wanted !== undefined;
    if (group !== undefined && !pools.has(group)) {
      throw new Error(`no workers have the group ${JSON.stringify(group)}`);
    }
    const all = workersOf(pools, this.#counters).filter((one) => {
      return !one.worker.isRetiring && (!isOne || one.group === group);
    });
    const candidates = wanted === undefined ? all : all.filter(({ number }) => number === wanted);
    const [found] = candidates.toSorted((a, b) => b.worker.memory - a.worker.memory);
    if (found === undefined) {
      const numbers = all.map(({ number }) => number).toSorted((a, b) => a - b);
      throw new Error(
        numbers.length === 0
          ? 'no worker serves'
          : `there is no worker ${wanted}: the workers are ${numbers.join(', ')}`,
      );
    }
    if (all.filter(({ pool }) => pool === found.pool).length === 1) {
      throw new Error(
        'no other worker could take its calls meanwhile: give the service a second worker, or a spare one (--spare-workers 1)',
      );
    }
    return found;
  }

  #assertRoom({ memory }: PoolWorker): void {
    const { maxProcessMb } = this.#config;
    const needed = memoryPerHeap * Math.max(memory, smallestHeap);
    const limits: readonly [room: number, what: string][] = [
      [availableMemory(), 'this machine, or its cgroup, has'],
      [
        maxProcessMb === 0 ? Number.POSITIVE_INFINITY : maxProcessMb * 1024 ** 2 - residentMemory(),
        'maxProcessMb leaves',
      ],
    ];
    for (const [room, what] of limits) {
      if (needed <= room) continue;
      throw new Error(
        `a snapshot of ${megabytes(memory)} takes about ${megabytes(needed)} of memory, and ${what} ${megabytes(Math.max(room, 0))}`,
      );
    }
  }
}

/** @returns the size of the file, bytes. The file is removed if this fails. */
async function takeHeap(pool: Pool, worker: PoolWorker, path: string): Promise<number> {
  try {
    // It may have gone while the file was made.
    if (worker.isRetiring || !pool.workers.all.includes(worker))
      throw new Error('the worker ended before it had written it');
    const heap = new HeapSnapshot(path);
    pool.retireForHeap(worker, heap);
    await heap.written;
    return (await stat(path)).size;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MB`;

/** Bytes that this process may still take, its cgroup's limit included. Node 20.13 and later know; before, the system's free memory. */
function availableMemory(): number {
  const { availableMemory: available } = process as { availableMemory?: () => number };
  return available?.() ?? freemem();
}

/** Made beforehand, so that nobody else can read it, and that nothing is overwritten. @throws Error with one line */
async function createFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close();
  } catch (error) {
    throw new Error(`option heapDir: the file cannot be made: ${messageOf(error)}`);
  }
}
