import { assertOptionNames } from '../base/option-names.ts';
import { type Authenticator, createAuthenticator } from '../dispatch/authenticate.ts';
import type { MountedRequest } from '../http/node/mount.ts';
import type { Dispatcher } from '../service/dispatcher.ts';
import { logHookFault } from '../service/worker-log.ts';
import { assertHook } from './hooks.ts';

/**
 * Options of one mount.
 *
 * @typeParam Request the framework's request: that of Express, of Fastify, or Node's
 */
export interface MountOptions<Request extends MountedRequest = MountedRequest> {
  /**
   * Says who calls, by what the framework knows: a session, `request.user`. What it returns, a JSON value or nothing,
   * is `context.auth` of each call of the request. It takes the place of the option `authenticate` at this mount: that
   * hook is not asked there. Throws an RpcError to refuse; may be asynchronous. Called once for each request that is a
   * call or asks for the document.
   */
  readonly auth?: ((request: Request) => unknown) | undefined;
}

const names = ['auth'] as const satisfies readonly (keyof MountOptions)[];

/**
 * The option `auth` as the handler calls it: it never throws and never rejects.
 *
 * @param method of the app, which an error names
 * @throws StartupError for an `auth` that is no function, and for a name that is no option: a misspelt `auth` would let
 *   everybody in
 */
export function toMountAuth<Request extends MountedRequest>(
  options: MountOptions<Request>,
  dispatcher: Dispatcher,
  method: 'nodeHandler' | 'upgradeHandler',
): Authenticator<MountedRequest> | undefined {
  assertOptionNames(method, options, names, '{ auth }', { authenticate: 'auth' });
  const { auth } = options;
  assertHook(auth, `${method}: option auth`);
  if (auth === undefined) return undefined;
  const hook = (request: MountedRequest): unknown => auth(request as Request);
  return createAuthenticator(
    'auth',
    dispatcher.watched('(auth)', hook),
    logHookFault(dispatcher.log, 'auth'),
  );
}
