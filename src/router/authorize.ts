import type { CallContext } from './context.ts';

/**
 * Allows a call by returning nothing, and refuses it by throwing. An RpcError reaches the caller as it is; anything
 * else that is thrown is a -32603. A returned value is a -32603 too, so that a function that returns true or false
 * fails at its first call instead of letting everybody in.
 */
export type Authorize<Params = never, Context = CallContext<never, Record<never, never>, never>> = (
  context: Context,
  params: Params,
) => void | Promise<void>;

/**
 * Refuses any value: an `authorize` that returns true and false would otherwise let everybody in.
 *
 * @throws TypeError
 */
export function assertNothing(permission: unknown): void {
  if (permission === undefined) return;
  throw new TypeError(
    `authorize returned a value (${typeof permission}): it must return nothing, and throw an RpcError to refuse`,
  );
}
