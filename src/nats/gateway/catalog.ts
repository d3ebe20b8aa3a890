import type { Procedure } from '../../router/types.ts';

type Procedures = ReadonlyMap<string, Procedure>;

/** A contract that a member serves, as the choice between contracts needs it. */
export interface KnownContract {
  readonly id: string;
  readonly version: string;
  readonly started: number;
  readonly procedures: Procedures;
}

/**
 * The procedures that members serve together. A name outlives the last member that had it for a while: a member that is restarted
 * beside others must not make its procedures unknown. Pure: it knows no clock.
 */
export class Catalog {
  readonly #keptMs: number;
  #procedures: Procedures = new Map();
  /** Since when names are kept that no member has any more; the first ones first. */
  readonly #goneSince = new Map<string, number>();

  /** @param keptMs milliseconds for which the name of a procedure that no member has is kept */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** The same map until that changes. */
  get procedures(): Procedures {
    return this.#procedures;
  }

  /** Nobody is there to say what has gone: all names are kept. */
  hold(): void {
    this.#goneSince.clear();
  }

  /**
   * Members serve something else than before. Those that are silent may come back, so their names stay.
   *
   * @param live contracts of members that take calls; one at least
   * @returns whether the procedures are others now
   */
  update(live: readonly KnownContract[], silent: readonly KnownContract[], now: number): boolean {
    const next = new Map(mergedProcedures(live));
    addMissing(next, mergedProcedures(silent));
    for (const name of next.keys()) this.#goneSince.delete(name);
    for (const name of this.#procedures.keys()) {
      if (!next.has(name) && !this.#goneSince.has(name)) this.#goneSince.set(name, now);
    }
    addMissing(next, this.#procedures);
    if (isSame(next, this.#procedures)) return false;
    this.#procedures = next;
    return true;
  }

  /**
   * Forgets the names whose time is over.
   *
   * @param listensSince the time counts from here at the earliest: before, members could not be heard
   * @returns whether there were any
   */
  expire(now: number, listensSince: number): boolean {
    const over: string[] = [];
    for (const [name, since] of this.#goneSince) {
      if (now - Math.max(since, listensSince) < this.#keptMs) break;
      over.push(name);
    }
    if (over.length === 0) return false;
    const next = new Map(this.#procedures);
    for (const name of over) {
      this.#goneSince.delete(name);
      next.delete(name);
    }
    this.#procedures = next;
    return true;
  }
}

/**
 * Of a name that several contracts have, the newest one describes it: that of the highest version, of equal ones that which was
 * started last. Members of one contract count once.
 */
function mergedProcedures(contracts: readonly KnownContract[]): Procedures {
  const newestFirst = contracts.toSorted(
    (a, b) => compareVersions(b.version, a.version) || b.started - a.started,
  );
  const merged = new Map<string, Procedure>();
  const seen = new Set<string>();
  for (const { id, procedures } of newestFirst) {
    if (!seen.has(id)) addMissing(merged, procedures);
    seen.add(id);
  }
  return merged;
}

function isSame(one: Procedures, other: Procedures): boolean {
  if (one.size !== other.size) return false;
  for (const [name, procedure] of one) if (other.get(name) !== procedure) return false;
  return true;
}

function addMissing(to: Map<string, Procedure>, from: Procedures): void {
  for (const [name, procedure] of from) if (!to.has(name)) to.set(name, procedure);
}

/** By the rules of semver.org, but that of two pre-releases the texts are compared. */
function compareVersions(a: string, b: string): number {
  const [one, other] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (one.numbers[i] ?? 0) - (other.numbers[i] ?? 0);
    if (difference !== 0) return difference;
  }
  if (one.pre === other.pre) return 0;
  if (one.pre === '' || other.pre === '') return one.pre === '' ? 1 : -1;
  return one.pre < other.pre ? -1 : 1;
}

function partsOf(version: string): { readonly numbers: readonly number[]; readonly pre: string } {
  const [core = '', ...rest] = (version.split('+')[0] ?? '').split('-');
  return { numbers: core.split('.').map((text) => Number(text) || 0), pre: rest.join('-') };
}
