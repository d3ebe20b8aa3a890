/** Something that takes a part of a limit until it gives the part back. */
export interface Holder<Scope> {
  readonly scope: Scope;
  /** How much of the limit it takes. Must not change meanwhile. */
  readonly amount: number;
  /** Where it stands in the list of its share; undefined: it holds nothing. Both are kept by `Share`. */
  slot?: number | undefined;
  account?: Account | undefined;
}

/** Says to whom things belong. */
export interface Callers<Scope> {
  keyOf(scope: Scope): string;
  /** The caller's part, where 1 is everybody else's. */
  weightOf(scope: Scope): number;
}

/** A caller that holds less is small: a hundredth of the limit; of a limit below 1000 ten, or the last tenth if that is less. */
export function smallHolding(limit: number): number {
  return Math.max(1, limit / 100, Math.min(10, Math.floor(limit / 10)));
}

/** Nobody is told from anybody else. */
export const oneCaller: Callers<unknown> = { keyOf: () => '', weightOf: () => 1 };

/** Why a caller gets no more. `share`: it holds its part; `full`: the service has no more to give. */
export type Denial = 'share' | 'full';

/** What one caller holds, or all callers of one network together. */
export interface Account {
  readonly key: string;
  readonly weight: number;
  /** The account of its network; undefined: it has none, or is one. */
  readonly network: Account | undefined;
  readonly isNetwork: boolean;
  held: number;
  /** Of a network: the sum of the weights of those of its callers that hold a hundredth or more. */
  weights: number;
}

/** A /48 of IPv6 may take as much as so many callers: a provider gives each customer up to 65,536 networks of 64 bits. */
export const networkCallers = 8;

/**
 * Divides one limit among the callers, by these rules:
 *
 * - Below half of the limit everybody takes what they ask for.
 * - Above, the callers that hold a hundredth of the limit or more divide nine tenths of it by their weights. One that holds
 *   its part gets no more.
 * - The last tenth is for callers that hold less than a hundredth: see {@link smallHolding}.
 * - The callers of one /48 of IPv6 together get the parts of eight.
 *
 * Nobody is told apart before half of the limit is taken: until then taking and giving back move one entry of a list.
 * Then each holder is asked once who it belongs to. So the accounts are as many as what is held at most.
 */
export class Share<Scope> {
  readonly limit: number;
  used = 0;
  readonly #callers: Callers<Scope>;
  /** Below so much of its own a caller counts as small. */
  readonly #small: number;
  /** What the others divide: the limit without its last tenth. */
  readonly #divided: number;
  readonly #holders: Holder<Scope>[] = [];
  /** undefined: nobody is told apart. */
  #accounts: Map<string, Account> | undefined;
  /** Of all who divide the limit. */
  #weights = 0;

  /** @param callers asked only when half of the limit is taken */
  constructor(limit: number, callers: Callers<Scope>) {
    this.limit = limit;
    this.#callers = callers;
    this.#small = smallHolding(limit);
    this.#divided = limit - Math.floor(limit / 10);
  }

  /** Whether `denial` has to be asked: otherwise everybody may take more. */
  get isScarce(): boolean {
    return this.used >= this.limit / 2;
  }

  /** Callers that are told apart now. */
  get accounts(): number {
    return this.#accounts?.size ?? 0;
  }

  /** Why the caller of `scope` may take no more now; undefined: it may. Takes nothing. */
  denial(scope: Scope): Denial | undefined {
    if (this.used >= this.limit) return 'full';
    if (!this.isScarce) return undefined;
    this.#tellApart();
    const { account, network } = this.#accountsOf(scope);
    if (account !== undefined && account.held >= this.#partOf(account)) return 'share';
    if (network !== undefined && network.held >= this.#partOf(network)) return 'share';
    const isLarge = account !== undefined || network !== undefined;
    return isLarge && this.used >= this.#divided ? 'full' : undefined;
  }

  /** Whether the caller of `scope` has so little that the last tenth is for it. */
  isSmall(scope: Scope): boolean {
    this.#tellApart();
    const { account, network } = this.#accountsOf(scope);
    return account === undefined && network === undefined;
  }

  /** Takes whatever the limit says: ask `denial` first. */
  take(holder: Holder<Scope>): void {
    this.used += holder.amount;
    holder.slot = this.#holders.push(holder) - 1;
    if (this.#accounts !== undefined) this.#book(holder);
  }

  /** Idempotent. */
  give(holder: Holder<Scope>): void {
    const { slot, account } = holder;
    if (slot === undefined) return;
    holder.slot = undefined;
    this.used -= holder.amount;
    const last = this.#holders.pop() as Holder<Scope>;
    if (last !== holder) {
      this.#holders[slot] = last;
      last.slot = slot;
    }
    if (account === undefined) return;
    holder.account = undefined;
    this.#change(account, -holder.amount);
    // Not at the half: a limit that is taken to about its half would have them told apart again and again.
    if (this.used < this.limit / 4) this.#forget();
  }

  /** The accounts of a caller and of its network, as far as they hold so much that they divide the limit with others. */
  #accountsOf(scope: Scope): Record<'account' | 'network', Account | undefined> {
    const key = this.#callers.keyOf(scope);
    return { account: this.#large(key), network: this.#large(networkOf(key)) };
  }

  #large(key: string | undefined): Account | undefined {
    const account = key === undefined ? undefined : this.#accounts?.get(key);
    if (account === undefined) return undefined;
    const least = account.isNetwork ? account.weight * this.#small : this.#small;
    return account.held >= least ? account : undefined;
  }

  #partOf({ weight }: Account): number {
    return (this.#divided * weight) / Math.max(weight, this.#weights);
  }

  #tellApart(): void {
    if (this.#accounts !== undefined) return;
    this.#accounts = new Map();
    for (const holder of this.#holders) this.#book(holder);
  }

  #forget(): void {
    this.#accounts = undefined;
    this.#weights = 0;
    for (const holder of this.#holders) holder.account = undefined;
  }

  #book(holder: Holder<Scope>): void {
    const key = this.#callers.keyOf(holder.scope);
    const account =
      this.#accounts?.get(key) ?? this.#open(key, this.#callers.weightOf(holder.scope));
    holder.account = account;
    this.#change(account, holder.amount);
  }

  #open(key: string, weight: number, isNetwork = false): Account {
    const above = networkOf(key);
    const network =
      above === undefined
        ? undefined
        : (this.#accounts?.get(above) ?? this.#open(above, networkCallers, true));
    const account = { key, weight, network, isNetwork, held: 0, weights: 0 };
    this.#accounts?.set(key, account);
    return account;
  }

  #change(account: Account, amount: number): void {
    const { network } = account;
    this.#weights -= this.#weightOf(network ?? account);
    const wasLarge = account.held >= this.#small;
    account.held += amount;
    const isLarge = account.held >= this.#small;
    if (network !== undefined) {
      network.held += amount;
      if (isLarge !== wasLarge) network.weights += isLarge ? account.weight : -account.weight;
    }
    this.#weights += this.#weightOf(network ?? account);
    if (account.held === 0) this.#accounts?.delete(account.key);
    if (network?.held === 0) this.#accounts?.delete(network.key);
  }

  /** How much of the sum of weights an account stands for: a caller, or all of a network. */
  #weightOf({ isNetwork, weight, held, weights }: Account): number {
    if (isNetwork) return Math.min(weight, weights);
    return held >= this.#small ? weight : 0;
  }
}

/** No key of a caller begins so. */
const networkMark = '/';

/** The key of the /48 that a caller's /64 lies in; undefined: the caller is told apart by something else. */
export function networkOf(key: string): string | undefined {
  if (!key.startsWith('a') || !key.includes(':')) return undefined;
  return networkMark + key.slice(0, key.lastIndexOf(':'));
}
