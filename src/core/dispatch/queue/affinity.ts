import type { Affinity } from '../../procedures/affinity.ts';
import { type Call, textBetween } from '../call.ts';
import { type CallGroup, hasRoom, type WorkerLoad } from './call-group.ts';
import { type QueuedCallers, WaitingLine } from './fair-queue.ts';

/** A worker in its place of the pool: whatever replaces it gets the same number. */
export interface HomeWorker extends WorkerLoad {
  /** From 0. */
  readonly home: number;
}

/** A worker serves the oldest call of all if it came so much earlier than the oldest of its own, milliseconds. */
const mostLagMs = 100;

/**
 * Short or long groups with affinity: a line for each worker. A worker takes groups of its own line, and if it has none the next
 * of the longest line. So no worker idles while calls wait, and the calls of a popular key do not wait for one worker.
 *
 * A line whose worker is missing, or busy for long, is served by the others once its calls have waited for longer.
 */
export class AffinityLines {
  readonly #lines: WaitingLine[];
  readonly #heads: (CallGroup | undefined)[] = [];
  /**
   * The work that left here beyond what left meanwhile from the groups without affinity, each divided by the number of callers
   * who wait there, microseconds: so a caller gets the same share in either.
   */
  #aheadUs = 0;

  constructor(homes: number, callers: QueuedCallers) {
    this.#lines = Array.from({ length: homes }, () => new WaitingLine(callers));
  }

  /** Calls that wait. */
  get size(): number {
    return sumOf(this.#lines, ({ size }) => size);
  }

  get unsharedCalls(): number {
    return sumOf(this.#lines, ({ unsharedCalls }) => unsharedCalls);
  }

  get unsharedUs(): number {
    return sumOf(this.#lines, ({ unsharedUs }) => unsharedUs);
  }

  get all(): CallGroup[] {
    return this.#lines.flatMap((line) => line.all);
  }

  /** Whether groups without affinity go first now, if any wait. */
  get isAhead(): boolean {
    return this.#aheadUs > 0;
  }

  lineOf(group: CallGroup): WaitingLine {
    return this.#lines[group.home] as WaitingLine;
  }

  share(): void {
    for (const line of this.#lines) line.share();
  }

  /**
   * The group that goes next; its `wanted` is the worker that takes it.
   *
   * @param peek gives the next group of a line that may go
   */
  next(
    workers: readonly HomeWorker[],
    peek: (line: WaitingLine) => CallGroup | undefined,
  ): CallGroup | undefined {
    let longest: CallGroup | undefined;
    let oldest: CallGroup | undefined;
    let most = 0;
    for (const [home, line] of this.#lines.entries()) {
      const head = line.size === 0 ? undefined : peek(line);
      this.#heads[home] = head;
      if (head === undefined) continue;
      if (line.size > most) {
        longest = head;
        most = line.size;
      }
      if (oldest === undefined || head.arrivedAt < oldest.arrivedAt) oldest = head;
    }
    if (longest === undefined || oldest === undefined) return undefined;
    let chosen = longest;
    let best: HomeWorker | undefined;
    let bestRank = -1;
    for (const worker of workers) {
      const own = this.#heads[worker.home];
      const isLate = own !== undefined && own.arrivedAt - oldest.arrivedAt > mostLagMs;
      const group = isLate ? oldest : (own ?? longest);
      if (!hasRoom(worker, group.nextUs, group.waiting)) continue;
      const rank = (worker.loadUs === 0 ? 2 : 0) + (group === own ? 1 : 0);
      if (best !== undefined && (rank < bestRank || (rank === bestRank && !isFreer(worker, best))))
        continue;
      [chosen, best, bestRank] = [group, worker, rank];
    }
    chosen.wanted = best;
    return chosen;
  }

  /**
   * A group leaves for a worker.
   *
   * @param plain the groups without affinity that are as short or as long
   */
  note(isOfHere: boolean, us: number, plain: WaitingLine): void {
    if (this.size === 0 || plain.size === 0) this.#aheadUs = 0;
    else if (isOfHere) this.#aheadUs += us / Math.max(...this.#lines.map((line) => line.callers));
    else this.#aheadUs -= us / plain.callers;
  }
}

function isFreer(worker: WorkerLoad, other: WorkerLoad): boolean {
  if (worker.loadUs !== other.loadUs) return worker.loadUs < other.loadUs;
  return worker.streamCount < other.streamCount;
}

function sumOf(lines: readonly WaitingLine[], of: (line: WaitingLine) => number): number {
  let sum = 0;
  for (const line of lines) sum += of(line);
  return sum;
}

/** Characters of a key that count. */
const keyLength = 64;

/**
 * The key of a call, of the param that its procedure names; undefined: it has none. Params that are not parsed are searched for the
 * name, which takes a tenth of the time of parsing. A text of that kind elsewhere in the params is taken for the param: that costs
 * a worker's cache a miss, and nothing else.
 */
export function keyOfParam(
  { params, source, start, end }: Pick<Call, 'params' | 'source' | 'start' | 'end'>,
  { param = '', mark }: Affinity,
): string | undefined {
  if (typeof params !== 'symbol') return keyOfValue(params, param);
  if (source === undefined || start < 0) return undefined;
  if (typeof source === 'string') {
    if (source[start] !== '{') return undefined;
    const text = source.slice(start, end);
    const at = text.indexOf(mark);
    return at === -1 ? undefined : keyOfText(text, at + mark.length);
  }
  const bytes = Buffer.from(source.buffer, source.byteOffset + start, end - start);
  const at = bytes[0] === 0x7b ? bytes.indexOf(mark) : -1;
  if (at === -1) return undefined;
  const from = at + Buffer.byteLength(mark);
  return keyOfText(textBetween(bytes, from, Math.min(bytes.length, from + 2 * keyLength)), 0);
}

function keyOfValue(params: unknown, param: string): string | undefined {
  if (typeof params !== 'object' || params === null || !Object.hasOwn(params, param))
    return undefined;
  const value = (params as Record<string, unknown>)[param];
  if (typeof value === 'string') return value.slice(0, keyLength);
  return typeof value === 'number' ? String(value) : undefined;
}

/** A whole number or the beginning of one, a text without its escapes: what is read in 64 characters. */
const value = /[ \t\r\n]*(?:"([^"]{0,64})|(-?\d[\w.+-]{0,62}))/y;

function keyOfText(text: string, at: number): string | undefined {
  value.lastIndex = at;
  const match = value.exec(text);
  return match?.[1] ?? match?.[2];
}

/**
 * The home of a key, by rendezvous hashing (Thaler and Ravishankar, 1998): the home with the highest hash of both. If the number of
 * homes changes by one, only the keys of that home move.
 */
export function homeOf(key: string, homes: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  let best = 0;
  let highest = -1;
  for (let home = 0; home < homes; home++) {
    const score = mixed(hash ^ Math.imul(home + 1, 0x9e3779b1));
    if (score <= highest) continue;
    highest = score;
    best = home;
  }
  return best;
}

/** The last step of MurmurHash3: each bit of its input changes half of the bits of its output. */
function mixed(bits: number): number {
  let h = bits ^ (bits >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
