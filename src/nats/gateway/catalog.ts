import type { Procedure } from '../../router/types.ts';

type Procedures = ReadonlyMap<string, Procedure>;

/** A contract that members serve, as the choice between contracts needs it. */
export interface KnownContract {
  readonly id: string;
  readonly version: string;
  readonly started: number;
  readonly procedures: Procedures;
}

/**
 * The procedures that members serve together. Of a name that several contracts have, the newest one describes it: that of the
 * highest version, of equal ones that which was started last.
 */
export function mergedProcedures(contracts: readonly KnownContract[]): Procedures {
  const newestFirst = contracts.toSorted(
    (a, b) => compareVersions(b.version, a.version) || b.started - a.started,
  );
  const merged = new Map<string, Procedure>();
  for (const { procedures } of newestFirst) {
    for (const [name, procedure] of procedures) if (!merged.has(name)) merged.set(name, procedure);
  }
  return merged;
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
