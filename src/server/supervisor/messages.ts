import { mostSuspects, type Suspects } from '../../core/base/running-code.ts';
import type { Config } from '../../core/config/config.ts';
import type { MetricsSnapshot } from '../../core/observe/snapshot.ts';
import { throttleCauses } from '../../core/observe/throttled-callers.ts';
import type { Answer, Order } from './admin/orders.ts';

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
  /** The text to print once all processes are ready. Its first line is the message of the line of the log. */
  readonly banner: string;
  /** Fields of that line. */
  readonly facts: Fields;
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
  /** A reload of all processes has begun, and this one's turn comes; or it is over. */
  | { readonly type: 'expect-reload'; readonly isComing: boolean }
  | { readonly type: 'order'; readonly id: number; readonly order: Order }
  /** Nobody waits for the answer to this order any more. */
  | { readonly type: 'leave'; readonly id: number }
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

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value can be a count or a measurement: a finite number, not negative. */
function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isUndefined: Check = (value) => value === undefined;
const isNull: Check = (value) => value === null;

function either(...checks: readonly Check[]): Check {
  return (value) => checks.some((check) => check(value));
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

/** An object whose members of these names pass their checks. It may have others: a successor may be another version. */
function shape(members: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(members);
  return (value) => isFields(value) && checks.every(([name, check]) => check(value[name]));
}

function amounts(names: readonly string[]): Readonly<Record<string, Check>> {
  return Object.fromEntries(names.map((name) => [name, isAmount]));
}

const fromServer: Readonly<Record<string, Check>> = {
  ready: shape({
    report: shape({ banner: isText, facts: isFields, sharesPort: isFlag }),
  }),
  failed: shape({
    failure: shape({
      message: isText,
      stack: either(isText, isUndefined),
      code: either(isText, isUndefined),
    }),
  }),
  figures: shape({ figures: shape({ zombies: isAmount, rssBytes: isAmount }) }),
  // The process has drained, even if its snapshot can't be read.
  drained: isFields,
  reply: shape({ id: isAmount }),
  'collect-all': shape({ id: isAmount }),
};

const toServer: Readonly<Record<string, Check>> = {
  start: shape({
    key: isText,
    order: shape({
      number: isAmount,
      of: isAmount,
      isFirst: isFlag,
      modules: listOf(isText),
      // The supervisor itself has resolved the configuration.
      config: isFields,
      version: isText,
    }),
  }),
  reload: shape({ id: isAmount }),
  'expect-reload': shape({ isComing: isFlag }),
  order: shape({ id: isAmount, order: isFields }),
  leave: shape({ id: isAmount }),
  collect: shape({ id: isAmount }),
  collection: shape({ id: isAmount, snapshots: Array.isArray }),
};

function isMessage(value: unknown, known: Readonly<Record<string, Check>>): value is Fields {
  if (!isFields(value) || typeof value.type !== 'string') return false;
  return Object.hasOwn(known, value.type) && known[value.type]?.(value) === true;
}

/**
 * Reads a message of a server process; undefined: it is not one. The code of procedures runs in the same process, and
 * whatever anybody writes to the channel arrives here.
 *
 * @param key the key that the process got with its order: a message without the key is somebody else's
 */
export function parseFromServer(message: unknown, key: string): FromServer | undefined {
  if (!isMessage(message, fromServer)) return undefined;
  const { key: given, ...rest } = message;
  if (given !== key) return undefined;
  // The table has checked the members that this type of message has.
  const known = rest as unknown as FromServer;
  return known.type === 'drained' ? { ...known, snapshot: parseSnapshot(known.snapshot) } : known;
}

/** Reads a message of the supervisor; undefined: it is not one. */
export function parseToServer(message: unknown): ToServer | undefined {
  if (!isMessage(message, toServer)) return undefined;
  // The table has checked the members that this type of message has.
  const known = message as unknown as ToServer;
  if (known.type !== 'collection') return known;
  const snapshots = known.snapshots.map(parseSnapshot).filter((one) => one !== undefined);
  return snapshots.length === known.snapshots.length ? { ...known, snapshots } : undefined;
}

export const nobody: Suspects = { names: [], isCertain: false };

const isGuardLine = shape({ names: listOf(isText), stack: either(isText, isUndefined) });

/** Reads a line of a process's guard; what is none names nobody. */
export function parseGuard(line: string): { suspects: Suspects; stack: string | undefined } {
  try {
    const value: unknown = JSON.parse(line);
    if (!isGuardLine(value)) return { suspects: nobody, stack: undefined };
    const { names, isCertain, stack } = value as Suspects & { readonly stack?: string };
    const suspects = { names: names.slice(0, mostSuspects), isCertain: isCertain === true };
    return { suspects, stack };
  } catch {
    return { suspects: nobody, stack: undefined };
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

const isOutcome = shape({ error: either(isText, isUndefined) });

/** Reads what a process made of an order; undefined: it gave no answer that can be read. */
export function parseAnswer(value: unknown): Pick<Answer, 'answer' | 'error'> | undefined {
  return isOutcome(value) ? (value as Pick<Answer, 'answer' | 'error'>) : undefined;
}

const isHistogram = shape({ buckets: listOf(isAmount), sum: isAmount });

const isAmounts = (value: unknown): boolean =>
  isFields(value) && Object.values(value).every(isAmount);

/** What the entries of each list of a snapshot must have. */
const entries = {
  calls: shape({
    procedure: isText,
    place: isText,
    codes: isAmounts,
    wait: isHistogram,
    duration: isHistogram,
    batches: either(isUndefined, isHistogram),
    affinity: either(isUndefined, shape({ calls: isAmounts, waitSeconds: isAmounts })),
    busy: either(isAmount, isUndefined),
  }),
  blocked: shape({ procedure: isText, times: isAmount, seconds: isAmount }),
  places: shape({ procedure: isText, place: isText, cause: isText }),
  groups: shape({ group: isText, counters: isFields }),
  workers: shape({
    group: either(isNull, isText),
    isLane: isFlag,
    ...amounts(['threadId', 'worker', 'inFlight', 'completed', 'streams']),
    cpuSeconds: either(isAmount, isNull),
    heapBytes: either(isAmount, isNull),
    running: either(isNull, shape({ procedure: isText, ms: isAmount })),
  }),
  events: shape({ event: isText, text: isText, at: isAmount }),
  callers: shape({
    key: isText,
    since: isAmount,
    last: isAmount,
    refused: shape(amounts(throttleCauses)),
  }),
  members: shape({
    service: isText,
    id: isText,
    version: isText,
    state: isText,
    ...amounts(['procedures', 'inFlight', 'streams', 'othersLoad', 'lost', 'started']),
  }),
} satisfies Readonly<Record<string, Check>>;

/**
 * Reads the figures that a process sent. Counters and gauges that are not amounts are left out, and so are entries of lists:
 * a successor with another version of this package may send others, or lack a list. One bad entry of `calls` makes the whole
 * snapshot unusable: undefined.
 */
export function parseSnapshot(value: unknown): MetricsSnapshot | undefined {
  if (!isFields(value)) return undefined;
  const { process, calls, counters, gauges } = value;
  if (typeof process !== 'string' || !isFields(counters)) return undefined;
  if (!listOf(entries.calls)(calls)) return undefined;
  if (gauges !== undefined && !isFields(gauges)) return undefined;
  const listed = (name: keyof typeof entries): unknown[] => {
    const list = value[name];
    return Array.isArray(list) ? list.filter(entries[name]) : [];
  };
  const groups = listed('groups') as Record<'group' | 'counters' | 'gauges', Fields>[];
  // Each entry has passed its check. The counters are complete, unless the process has another version of this package.
  return {
    process,
    // Another version of this package may not count for how long calls are busy.
    calls: (calls as readonly Fields[]).map((row) => ({ busy: 0, ...row })),
    counters: amountsOf(counters),
    gauges: gauges && gaugesOf(gauges),
    blocked: listed('blocked'),
    places: listed('places'),
    groups: groups.map((one) => ({
      group: one.group,
      counters: amountsOf(one.counters),
      gauges: isFields(one.gauges) ? gaugesOf(one.gauges) : undefined,
    })),
    workers: listed('workers'),
    events: listed('events'),
    callers: listed('callers'),
    members: listed('members'),
  } as unknown as MetricsSnapshot;
}

function amountsOf(fields: Fields): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, number] => isAmount(entry[1])),
  );
}

/** A gauge has one amount, or one for each value of a label. */
function gaugesOf(fields: Fields): Fields {
  const byLabel = Object.entries(fields)
    .filter((entry): entry is [string, Fields] => isFields(entry[1]))
    .map(([name, values]) => [name, amountsOf(values)]);
  return { ...amountsOf(fields), ...Object.fromEntries(byLabel) };
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
