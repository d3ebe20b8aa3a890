import { mostSuspects, type Suspects } from '../../core/base/running-code.ts';
import type { Config } from '../../core/config/config.ts';
import type { RecentEvent } from '../../core/observe/recent-events.ts';
import type {
  BlockedTotals,
  CallTotals,
  Counters,
  Gauges,
  GroupFigures,
  HistogramTotals,
  MemberFigures,
  MetricsSnapshot,
  PlacedProcedure,
  WorkerFigures,
} from '../../core/observe/snapshot.ts';
import { type ThrottledCaller, throttleCauses } from '../../core/observe/throttled-callers.ts';

export interface StartOrder {
  /** 1 to `of`. The successor of a process has the same number. */
  readonly number: number;
  readonly of: number;
  /** No process of this supervisor has listened yet: this one must check that its port is free. */
  readonly isFirst: boolean;
  readonly modules: readonly string[];
  /** The configuration, with the chosen ports in place of 0. */
  readonly config: Config;
  readonly version: string;
}

export interface ReadyReport {
  /** The text to print once all processes are ready. */
  readonly banner: string;
  /** A successor can listen while this process still does. */
  readonly sharesPort: boolean;
}

/** Why a process could not start: one line, and the stack, which TANDEM_DEBUG=1 shows. */
export interface StartFailure {
  readonly message: string;
  readonly stack: string | undefined;
  /** The operating system's code (EADDRINUSE and others), where it refused something. */
  readonly code?: string | undefined;
}

/**
 * Figures that decide whether a process must be replaced. A process sends them regularly, which also shows that its main
 * thread is not stuck.
 */
export interface Figures {
  readonly zombies: number;
  readonly rssBytes: number;
}

/** How a reload ended; `error` is one line. */
export type ReloadOutcome = { readonly changed: boolean } | { readonly error: string };

/** Messages from the supervisor to a server process. Signals are sent as signals of the operating system. */
export type ToServer =
  /** The process sends `key` with each of its messages, which tells them from whatever else reaches the channel. */
  | { readonly type: 'start'; readonly key: string; readonly order: StartOrder }
  | { readonly type: 'reload'; readonly id: number }
  | { readonly type: 'collect'; readonly id: number }
  | {
      readonly type: 'collection';
      readonly id: number;
      readonly snapshots: readonly MetricsSnapshot[];
    };

/** Messages from a server process to the supervisor. */
export type FromServer =
  | { readonly type: 'ready'; readonly report: ReadyReport }
  | { readonly type: 'failed'; readonly failure: StartFailure }
  | { readonly type: 'figures'; readonly figures: Figures }
  /** Every call is answered: only threads that have not ended keep the process alive. */
  | { readonly type: 'drained'; readonly snapshot: MetricsSnapshot | undefined }
  | { readonly type: 'reply'; readonly id: number; readonly value: unknown }
  | { readonly type: 'collect-all'; readonly id: number };

/**
 * Reads a message of a server process; undefined: it is not one. The code of procedures runs in the same process, and
 * whatever anybody writes to the channel arrives here.
 *
 * @param key the key that the process got with its order: a message without the key is somebody else's
 */
export function parseFromServer(message: unknown, key: string): FromServer | undefined {
  if (!isFields(message) || message.key !== key) return undefined;
  const { type, id } = message;
  switch (type) {
    case 'ready':
      return isReport(message.report) ? { type, report: message.report } : undefined;
    case 'failed':
      return isFailure(message.failure) ? { type, failure: message.failure } : undefined;
    case 'figures':
      return isFigures(message.figures) ? { type, figures: message.figures } : undefined;
    case 'drained':
      // The process has drained, even where its snapshot can't be read.
      return { type, snapshot: parseSnapshot(message.snapshot) };
    case 'reply':
      return isAmount(id) ? { type, id, value: message.value } : undefined;
    case 'collect-all':
      return isAmount(id) ? { type, id } : undefined;
    default:
      return undefined;
  }
}

/** Reads a message of the supervisor; undefined: it is not one. */
export function parseToServer(message: unknown): ToServer | undefined {
  if (!isFields(message)) return undefined;
  const { type, id } = message;
  switch (type) {
    case 'start': {
      const { key, order } = message;
      return typeof key === 'string' && isOrder(order) ? { type, key, order } : undefined;
    }
    case 'reload':
    case 'collect':
      return isAmount(id) ? { type, id } : undefined;
    case 'collection': {
      const snapshots = parseSnapshots(message.snapshots);
      return isAmount(id) && snapshots !== undefined ? { type, id, snapshots } : undefined;
    }
    default:
      return undefined;
  }
}

export const nobody: Suspects = { names: [], isCertain: false };

/** Reads a line of a process's guard; what is none names nobody. */
export function parseSuspects(line: string): Suspects {
  try {
    const value: unknown = JSON.parse(line);
    if (!isFields(value)) return nobody;
    const { names, isCertain } = value;
    const areNames = Array.isArray(names) && names.every((name) => typeof name === 'string');
    return areNames
      ? { names: names.slice(0, mostSuspects), isCertain: isCertain === true }
      : nobody;
  } catch {
    return nobody;
  }
}

/** Reads the reply to a reload; undefined: the process has gone. */
export function parseOutcome(value: unknown): ReloadOutcome | undefined {
  if (value === undefined) return undefined;
  if (isFields(value)) {
    const { changed, error } = value;
    if (typeof changed === 'boolean') return { changed };
    if (typeof error === 'string') return { error };
  }
  return { error: 'the server process gave no answer that can be read' };
}

function isReport(value: unknown): value is ReadyReport {
  return hasTexts(value, 'banner') && typeof value.sharesPort === 'boolean';
}

function isFailure(value: unknown): value is StartFailure {
  if (!hasTexts(value, 'message')) return false;
  return [value.stack, value.code].every((text) => text === undefined || typeof text === 'string');
}

function isFigures(value: unknown): value is Figures {
  return hasAmounts(value, 'zombies', 'rssBytes');
}

/** Checks only that the configuration is an object: the supervisor itself has resolved it. */
function isOrder(value: unknown): value is StartOrder & Fields {
  if (!hasAmounts(value, 'number', 'of') || !hasTexts(value, 'version')) return false;
  const { isFirst, modules, config } = value;
  return (
    typeof isFirst === 'boolean' &&
    Array.isArray(modules) &&
    modules.every((module) => typeof module === 'string') &&
    isFields(config)
  );
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value can be a count or a measurement: a finite number, not negative. */
function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}

/** Whether a value is an object whose members of these names are texts. */
function hasTexts(value: unknown, ...names: readonly string[]): value is Fields {
  return isFields(value) && names.every((name) => typeof value[name] === 'string');
}

function hasAmounts(value: unknown, ...names: readonly string[]): value is Fields {
  return isFields(value) && names.every((name) => isAmount(value[name]));
}

/** The entries of a list that are what they should be: a process with an older version of this package may lack the list. */
function entriesOf<T>(list: unknown, isEntry: (value: unknown) => value is T): T[] {
  return Array.isArray(list) ? list.filter(isEntry) : [];
}

/**
 * Reads the figures that a process sent. Counters and gauges that are not amounts are left out: a successor with another
 * version of this package may send others. One bad entry of `calls` makes the whole snapshot unusable: undefined.
 */
export function parseSnapshot(value: unknown): MetricsSnapshot | undefined {
  if (!isFields(value)) return undefined;
  const { process, calls, counters, gauges } = value;
  if (typeof process !== 'string' || !isFields(counters)) return undefined;
  if (!Array.isArray(calls) || !calls.every(isCallTotals)) return undefined;
  if (gauges !== undefined && !isFields(gauges)) return undefined;
  return {
    process,
    calls,
    // Complete, unless the process has another version of this package.
    counters: amountsOf(counters) as Counters,
    gauges: gauges && gaugesOf(gauges),
    blocked: entriesOf(value.blocked, isBlockedTotals),
    places: entriesOf(value.places, isPlacedProcedure),
    groups: entriesOf(value.groups, isFields).flatMap(groupOf),
    workers: entriesOf(value.workers, isWorker),
    events: entriesOf(value.events, isEvent),
    callers: entriesOf(value.callers, isThrottled),
    members: entriesOf(value.members, isMember),
  };
}

function groupOf({ group, counters, gauges }: Fields): GroupFigures[] {
  if (typeof group !== 'string' || !isFields(counters)) return [];
  const now = isFields(gauges) ? gaugesOf(gauges) : undefined;
  return [{ group, counters: amountsOf(counters), gauges: now }];
}

function parseSnapshots(value: unknown): readonly MetricsSnapshot[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const snapshots = value.map(parseSnapshot);
  return snapshots.every((snapshot) => snapshot !== undefined) ? snapshots : undefined;
}

function amountsOf(fields: Fields): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, number] => isAmount(entry[1])),
  );
}

/** A gauge has one amount, or one for each place. */
function gaugesOf(fields: Fields): Gauges {
  const byLabel = Object.entries(fields)
    .filter((entry): entry is [string, Fields] => isFields(entry[1]))
    .map(([name, values]) => [name, amountsOf(values)]);
  return { ...amountsOf(fields), ...Object.fromEntries(byLabel) } as Gauges;
}

function isCallTotals(value: unknown): value is CallTotals & Fields {
  if (!hasTexts(value, 'procedure', 'place')) return false;
  const { codes, wait, run, duration } = value;
  return (
    isFields(codes) &&
    Object.values(codes).every(isAmount) &&
    [wait, run, duration].every(isHistogram)
  );
}

function isBlockedTotals(value: unknown): value is BlockedTotals & Fields {
  return hasTexts(value, 'procedure') && hasAmounts(value, 'times', 'seconds');
}

function isPlacedProcedure(value: unknown): value is PlacedProcedure & Fields {
  return hasTexts(value, 'procedure', 'place', 'cause');
}

function isWorker(value: unknown): value is WorkerFigures & Fields {
  if (!hasAmounts(value, 'threadId', 'inFlight', 'completed', 'streams')) return false;
  const { group, isLane, running } = value;
  return (
    (group === null || typeof group === 'string') &&
    typeof isLane === 'boolean' &&
    (running === null || (hasTexts(running, 'procedure') && hasAmounts(running, 'ms')))
  );
}

function isEvent(value: unknown): value is RecentEvent & Fields {
  return hasTexts(value, 'event', 'text') && hasAmounts(value, 'at');
}

function isThrottled(value: unknown): value is ThrottledCaller & Fields {
  if (!hasTexts(value, 'key') || !hasAmounts(value, 'since', 'last')) return false;
  return hasAmounts(value.refused, ...throttleCauses);
}

const memberAmounts = ['procedures', 'inFlight', 'streams', 'othersLoad', 'lost', 'started'];

function isMember(value: unknown): value is MemberFigures & Fields {
  return (
    hasTexts(value, 'service', 'id', 'version', 'state') && hasAmounts(value, ...memberAmounts)
  );
}

function isHistogram(value: unknown): value is HistogramTotals {
  if (!isFields(value)) return false;
  const { buckets, sum } = value;
  return Array.isArray(buckets) && buckets.every(isAmount) && isAmount(sum);
}

/** Questions to the other side of a channel, by number. Each gets a reply, or undefined when the other side has gone. */
export class Pending {
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #last = 0;

  /**
   * Sends a question and waits for its reply.
   *
   * @param send sends the question with this number
   * @returns the reply; undefined where the other side has gone, or has not replied after `limitMs`
   */
  ask(send: (id: number) => void, limitMs?: number): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve) => {
      const timer =
        limitMs === undefined ? undefined : setTimeout(() => this.reply(id, undefined), limitMs);
      this.#waiting.set(id, (value) => {
        clearTimeout(timer);
        resolve(value);
      });
      send(id);
    });
  }

  reply(id: number, value: unknown): void {
    this.#waiting.get(id)?.(value);
    this.#waiting.delete(id);
  }

  /** Ends all questions: the other side has gone. */
  end(): void {
    for (const id of this.#waiting.keys()) this.reply(id, undefined);
  }
}
