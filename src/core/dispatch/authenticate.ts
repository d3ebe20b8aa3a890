import type { Overload } from '../base/overloads.ts';
import { isThenable } from '../base/value-kinds.ts';
import { toErrorOutcome } from '../procedures/fault.ts';
import { jsonTextOf } from '../protocol/json-value.ts';
import type { Outcome } from '../protocol/reply.ts';

export type Verdict =
  | { readonly refusal: undefined; readonly authText: string | undefined }
  | { readonly refusal: Outcome; readonly overload?: Overload };

/**
 * The hook that says who calls, as a transport calls it: it never throws and never rejects.
 *
 * `showsFaults`: see {@link RequestScope.showsFaults}.
 *
 * @typeParam Facts what a transport knows of a request before its body is there; each transport defines its own
 */
export type Authenticator<Facts> = (
  facts: Facts,
  showsFaults?: boolean,
) => Verdict | Promise<Verdict>;

/**
 * @param name of the hook, as its faults are told
 * @param authenticate returns what `context.auth` is, a JSON value or nothing; throws an RpcError to refuse; may be
 *   asynchronous
 * @param onFault told of anything else that was thrown, which is a -32603; the caller gets only the ref
 */
export function createAuthenticator<Facts>(
  name: string,
  authenticate: (facts: Facts) => unknown,
  onFault: (fault: { readonly ref: string; readonly detail: string }) => void,
): Authenticator<Facts> {
  const refuse = (error: unknown, showsFaults: boolean | undefined): Verdict => ({
    refusal: toErrorOutcome(error, name, { onFault, showsFaults, isUnrun: true }),
  });
  const settle = async (
    result: PromiseLike<unknown>,
    showsFaults: boolean | undefined,
  ): Promise<Verdict> => {
    try {
      return admit(await result, name);
    } catch (error) {
      return refuse(error, showsFaults);
    }
  };
  return (facts, showsFaults) => {
    try {
      const result = authenticate(facts);
      return isThenable(result) ? settle(result, showsFaults) : admit(result, name);
    } catch (error) {
      return refuse(error, showsFaults);
    }
  };
}

/** @throws TypeError for what is no JSON value */
function admit(auth: unknown, name: string): Verdict {
  const authText = auth === undefined ? undefined : jsonTextOf(auth, `the result of ${name}`);
  return { refusal: undefined, authText };
}
