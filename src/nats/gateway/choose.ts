/** What the choice of a member is made from. */
export interface Choosable {
  /** Calls of this gateway that are with it. */
  readonly inFlight: number;
  /** Calls of others, as it told last. */
  readonly othersLoad: number;
}

/** Chooses one of several; there is one at least. */
export type ChooseMember = <Member extends Choosable>(members: readonly Member[]) => Member;

/**
 * The less loaded of two that chance takes. Chosen by what this gateway itself has there: what members tell of themselves is
 * older than the calls that all gateways send meanwhile, and brings them all to the same one.
 */
export const lessLoadedOfTwo: ChooseMember = (members) => {
  const at = Math.floor(Math.random() * members.length);
  const first = members[at] as (typeof members)[number];
  if (members.length === 1) return first;
  const other = (at + 1 + Math.floor(Math.random() * (members.length - 1))) % members.length;
  const second = members[other] as (typeof members)[number];
  return loadOf(second) < loadOf(first) ? second : first;
};

function loadOf({ inFlight, othersLoad }: Choosable): number {
  return inFlight + othersLoad;
}
