import {
  type Client,
  type Contract,
  type ContractOf,
  createClient,
  type Fetch,
} from '../client/index.ts';
import { createReadable, type Open } from '../client/stream.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { createCallerScope } from '../core/dispatch/scope.ts';
import { hintsOf } from '../core/procedures/document/introspect.ts';
import type { EnvOf } from '../core/procedures/from.ts';
import { type AnyRouter, defaultRouter, Router, tableOf } from '../core/procedures/router.ts';
import { aFunction, anything, optionsCheck } from '../core/schema/options.ts';
import type { CallerOptions, CallerRuns } from './runs.ts';

const checkCallerOptions = optionsCheck<keyof CallerOptions>(
  {
    auth: anything,
    broadcast: aFunction,
    headers: anything,
    onFault: aFunction,
    remoteAddress: anything,
    state: anything,
  },
  { expected: "an object, such as { auth: { user: 'ada' } }", Failure: StartupError },
);

/** The contract of a router that `Router.from` has made; of another one, any name by `call`. */
type Callable<R> = unknown extends ContractOf<R> ? Contract : ContractOf<R>;

/**
 * A client of a router in this process, for tests and scripts: `await api.users.get({ id: 'x' })`. A call takes the way
 * of a call over HTTP, JSON both ways, but for the socket: its params are validated, `authorize` and middleware are asked,
 * its result is checked. A stream is iterated: `for await (const value of api.ticks())`. Every procedure runs on this
 * thread, one with `placement: 'worker'` too. Nothing is started, so there is nothing to close. Handlers find the current span of
 * OpenTelemetry in `context.traceparent`.
 *
 * @throws TypeError for what is no router, and for an option that can't be, such as an `auth` that is no JSON value
 * @throws StartupError for a `broadcast` that is no function, and for an option that nobody knows: with a misspelt `auth` a
 *   test would call as nobody
 */
export function createCaller<R extends AnyRouter>(
  router: R,
  options: CallerOptions<EnvOf<R>> = {},
): Client<Callable<R>> {
  if (!Router.is(router)) throw new TypeError('createCaller: the first argument must be a Router');
  checkCallerOptions(options, 'createCaller');
  const own = { ...options };
  createCallerScope(own); // A mistake in the options is told now, not at the first call.
  let loading: Promise<CallerRuns> | undefined;
  const load = (): Promise<CallerRuns> => {
    loading ??= loadRuns().then((runs) => new runs.CallerRuns(router, own));
    return loading;
  };
  const fetch: Fetch = async (url, init) => (await load()).fetch(url, init);
  const open: Open = async function* (call, signal) {
    return yield* (await load()).open(call, signal);
  };
  // A test of a refusal is to see the refusal at once, without retries of the client.
  const settings = {
    url: 'http://local/rpc',
    fetch,
    streams: () => ({ readable: createReadable(open) }),
    retries: 0,
    hints: hintsOf(tableOf(router)),
  };
  // The contract exists only in the type.
  return createClient(settings) as unknown as Client<Callable<R>>;
}

/**
 * Handles a payload that is parsed already, on this thread, with the default limits. Never rejects for what is in the payload: an
 * error of any kind is in the response.
 *
 * @param payload a request or an array of requests
 * @returns the response object, or an array of them; undefined where there is nothing to answer (only notifications)
 * @throws TypeError for what is no router
 */
export async function handleRequest(
  payload: unknown,
  router: AnyRouter = defaultRouter,
): Promise<unknown> {
  if (!Router.is(router))
    throw new TypeError('handleRequest: the second argument must be a Router');
  return (await loadRuns()).handlePayload(payload, router);
}

/** On demand: a worker thread imports this file too, and seldom calls. */
function loadRuns(): Promise<typeof import('./runs.ts')> {
  return import('./runs.ts');
}
