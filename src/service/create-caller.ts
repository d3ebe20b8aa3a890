import { assertOptionNames } from '../base/option-names.ts';
import { longestDelayMs } from '../base/timer.ts';
import {
  type Client,
  RpcError as ClientError,
  type Contract,
  type ContractOf,
  createClient,
  _r as toRequest,
} from '../client/index.ts';
import { createReadable, type Open } from '../client/stream.ts';
import { resolveConfig } from '../config/config.ts';
import { type CallerFacts, createCallerScope } from '../dispatch/caller-facts.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { textOfReply } from '../jsonrpc/reply.ts';
import { hintsOf } from '../router/document/hints.ts';
import type { AuthOf, Env, StateOf } from '../router/env.ts';
import type { FaultReporter } from '../router/fault.ts';
import type { EnvOf } from '../router/from.ts';
import { Router, tableOf, versionOf } from '../router/router.ts';
import type { AnyRouter } from '../router/router-state.ts';
import type { Procedure } from '../router/types.ts';
import { createInlineKernel } from './inline-kernel.ts';
import { createFetch } from './local-fetch.ts';
import { readStream } from './local-stream.ts';
import { runScope } from './run-scope.ts';

/** @typeParam E the environment of the router that is called */
export interface CallerOptions<E extends Env = Env>
  extends Pick<CallerFacts, 'headers' | 'remoteAddress'> {
  /** `context.auth` of each call, a JSON value. Each call gets a copy. Default: undefined. */
  readonly auth?: AuthOf<E> | undefined;
  /** `context.state` of each call, as it is. Default: what the `setup()` of a module that was loaded has returned. */
  readonly state?: StateOf<E> | undefined;
  /** Told of each -32603: what the caller sees as a reference only. Default: a line on stderr. */
  readonly onFault?: FaultReporter | undefined;
}

const optionNames = [
  'auth',
  'headers',
  'onFault',
  'remoteAddress',
  'state',
] as const satisfies readonly (keyof CallerOptions)[];

/** The contract of a router that `Router.from` has made; of another one, any name by `call`. */
type Callable<R> = unknown extends ContractOf<R> ? Contract : ContractOf<R>;

/**
 * A client of a router in this process, for tests and scripts: `await api.users.get({ id: 'x' })`. A call takes the way
 * of a call over HTTP, JSON both ways, but for the socket: its params are validated, `authorize` and middleware are asked,
 * its result is checked. A stream is iterated: `for await (const value of api.ticks())`. Every procedure runs on this
 * thread, one with `placement: 'worker'` too. Nothing is started, so there is nothing to close.
 *
 * @throws TypeError for what is no router, and for an option that can't be, such as an `auth` that is no JSON value
 * @throws StartupError for an option that nobody knows: with a misspelt `auth` a test would call as nobody
 */
export function createCaller<R extends AnyRouter>(
  router: R,
  options: CallerOptions<EnvOf<R>> = {},
): Client<Callable<R>> {
  if (!Router.is(router)) throw new TypeError('createCaller: the first argument must be a Router');
  assertOptionNames('createCaller', options, optionNames, "{ auth: { user: 'ada' } }");
  const { state, onFault, ...facts } = options;
  createCallerScope(facts); // A mistake in the options is told now, not at the first call.
  const { maxBodyBytes } = resolveConfig();
  // Params of any size that a worker would take: there is none here.
  const config = { maxInlineParamsBytes: maxBodyBytes };
  const table = 'state' in options ? withState(router, state) : () => tableOf(router);
  const kernel = createInlineKernel(table, { config, onFault });
  const handle = async (body: string, said: CallerFacts & { signal?: AbortSignal | undefined }) => {
    const { signal, timeoutMs } = said;
    // No socket keeps the process alive: a call that waits for nothing must still come to its deadline.
    const alive = setTimeout(() => {}, longestDelayMs);
    try {
      const reply = await runScope(createCallerScope({ ...facts, timeoutMs }), signal, (scope) =>
        kernel.handle(body, scope),
      );
      return textOfReply(reply);
    } finally {
      clearTimeout(alive);
    }
  };
  const open: Open = async function* (call, signal) {
    const { body } = toRequest([call]);
    const opened = readStream(
      (reader) =>
        runScope(createCallerScope(facts), signal, (scope) => {
          scope.streams = reader;
          return kernel.handle(body, scope);
        }),
      signal,
    );
    try {
      return yield* opened;
    } catch (error) {
      if (!RpcError.is(error)) throw error;
      throw new ClientError(error.code, error.message, error.data, call.method);
    }
  };
  // A test of a refusal is to see the refusal at once, without retries of the client.
  const settings = {
    url: 'http://local/rpc',
    fetch: createFetch(handle, []),
    streams: () => ({ readable: createReadable(open) }),
    retries: 0,
    hints: hintsOf(tableOf(router)),
  };
  // The contract exists only in the type.
  return createClient(settings) as unknown as Client<Callable<R>>;
}

/** The procedures of a router with a state that no `setup()` has made. */
function withState(router: AnyRouter, value: unknown): () => ReadonlyMap<string, Procedure> {
  const moduleState = { value };
  let version: number | undefined;
  let table: ReadonlyMap<string, Procedure> = new Map();
  return () => {
    if (version !== versionOf(router)) {
      version = versionOf(router);
      table = new Map(
        Array.from(tableOf(router), ([name, procedure]) => [
          name,
          Object.freeze({ ...procedure, moduleState }),
        ]),
      );
    }
    return table;
  };
}
