import type { Procedure } from '../types.ts';

/** `subscribe`, alone or as the last word of a name: behind `_`, `.`, `/` or `:`. */
const subscribing = /(^|[_./:])subscribe$/;

/** The methods by which a subscription speaks. */
export interface SubscriptionNames {
  /** Of the notifications that bring its values. */
  readonly notification: string;
  /** Of the call that ends it, beside `rpc.unsubscribe`; undefined: there is no other. */
  readonly unsubscribe: string | undefined;
}

/**
 * The methods of a procedure's subscriptions: as its options say, else by its name. `eth_subscribe` notifies as
 * `eth_subscription` and is ended by `eth_unsubscribe`, as clients of Ethereum nodes expect. `ticks` notifies as `ticks`.
 */
export function subscriptionNames({ name, stream }: Procedure): SubscriptionNames {
  const isSubscribing = subscribing.test(name);
  const base = name.slice(0, -'subscribe'.length);
  return {
    notification: stream?.notification ?? (isSubscribing ? `${base}subscription` : name),
    unsubscribe: stream?.unsubscribe ?? (isSubscribing ? `${base}unsubscribe` : undefined),
  };
}

const known = new WeakMap<ReadonlyMap<string, Procedure>, { size: number; names: Set<string> }>();

/** All methods that end a subscription in a table, without `rpc.unsubscribe`. A table never loses procedures. */
export function unsubscribeNames(table: ReadonlyMap<string, Procedure>): ReadonlySet<string> {
  let found = known.get(table);
  if (found?.size !== table.size) {
    const names = new Set<string>();
    for (const procedure of table.values()) {
      if (procedure.stream === undefined) continue;
      const { unsubscribe } = subscriptionNames(procedure);
      if (unsubscribe !== undefined) names.add(unsubscribe);
    }
    found = { size: table.size, names };
    known.set(table, found);
  }
  return found.names;
}
