import {
  type Client,
  RpcError as ClientError,
  type Contract,
  type ContractOf,
  createClient,
  _r as toRequest,
} from '../../client/index.ts';
import { createReadable, type Open } from '../../client/stream.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { longestDelayMs } from '../../core/base/timer.ts';
import { type Config, resolveConfig } from '../../core/config/config.ts';
import { DeadlineSweep, OrphanCounts } from '../../core/dispatch/deadline.ts';
import { InlineExecutor, InlineHost } from '../../core/dispatch/inline.ts';
import { InlineTurns } from '../../core/dispatch/inline-turns.ts';
import { Kernel } from '../../core/dispatch/kernel.ts';
import { type CallerFacts, createCallerScope, RequestScope } from '../../core/dispatch/scope.ts';
import { oneCaller, Share } from '../../core/dispatch/share.ts';
import { OpenStreams } from '../../core/dispatch/streams/open-streams.ts';
import { createLog, type Log } from '../../core/observe/log.ts';
import type { Broadcast } from '../../core/procedures/broadcast.ts';
import type { AuthOf, Env, StateOf } from '../../core/procedures/context.ts';
import { hintsOf } from '../../core/procedures/document/introspect.ts';
import type { FaultReporter } from '../../core/procedures/fault.ts';
import type { EnvOf } from '../../core/procedures/from.ts';
import {
  type AnyRouter,
  defaultRouter,
  Router,
  tableOf,
  versionOf,
} from '../../core/procedures/router.ts';
import type { Procedure } from '../../core/procedures/types.ts';
import { RpcError } from '../../core/protocol/errors.ts';
import { promised, type Reply, textOfReply } from '../../core/protocol/reply.ts';
import { aFunction, anything, optionsCheck } from '../../core/schema/options.ts';
import { createFetch, readStream, runScope } from '../../core/service/local.ts';
import { currentTraceContext } from '../../core/service/tracing.ts';
import { logFault, logLine } from '../../core/service/worker-log.ts';

/** @typeParam E the environment of the router that is called */
export interface CallerOptions<E extends Env = Env>
  extends Pick<CallerFacts, 'headers' | 'remoteAddress'> {
  /** `context.auth` of each call, a JSON value. Each call gets a copy. Default: undefined. */
  readonly auth?: AuthOf<E> | undefined;
  /** `context.state` of each call, as it is. Default: what the `setup()` of a module that was loaded has returned. */
  readonly state?: StateOf<E> | undefined;
  /** `context.broadcast` of each call: there are no other threads. Default: a broadcast is rejected. */
  readonly broadcast?: Broadcast | undefined;
  /** Told of each -32603: what the caller sees as a reference only. Default: a line on stderr. */
  readonly onFault?: FaultReporter | undefined;
}

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
  const { state, broadcast, onFault, ...facts } = options;
  createCallerScope(facts); // A mistake in the options is told now, not at the first call.
  // Params of any size that a worker would take: there is none here.
  const own = { maxInlineParamsBytes: sharedParts().config.maxBodyBytes };
  const table = 'state' in options ? withState(router, state) : () => tableOf(router);
  const kernel = createInlineKernel(table, own, { broadcast, onFault });
  const handle = async (body: string, said: CallerFacts & { signal?: AbortSignal | undefined }) => {
    const { signal, timeoutMs } = said;
    // No socket keeps the process alive: a call that waits for nothing must still come to its deadline.
    const alive = setTimeout(() => {}, longestDelayMs);
    try {
      const scope = createCallerScope({ ...facts, ...currentTraceContext(), timeoutMs });
      const reply = await runScope(scope, signal, () =>
        promised<Reply>((sink) => kernel.handle(body, scope, sink)),
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
        runScope(createCallerScope({ ...facts, ...currentTraceContext() }), signal, (scope) => {
          scope.streams = reader;
          return promised<Reply>((sink) => kernel.handle(body, scope, sink));
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

const kernels = new WeakMap<AnyRouter, Kernel>();

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
  const reply = await promised<Reply>((sink) =>
    kernelOf(router).handlePayload(payload, new RequestScope(), sink),
  );
  const text = textOfReply(reply);
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

function kernelOf(router: AnyRouter): Kernel {
  let kernel = kernels.get(router);
  if (kernel === undefined) {
    kernel = createInlineKernel(() => tableOf(router));
    kernels.set(router, kernel);
  }
  return kernel;
}

/** What the kernels without a service share: the options that nobody has set, and a log on stderr. */
let shared: { config: Config; log: Log; deadlines: DeadlineSweep } | undefined;

function sharedParts(): NonNullable<typeof shared> {
  if (shared === undefined) {
    const config = resolveConfig();
    const log = createLog({ level: config.logLevel });
    shared = { config, log, deadlines: new DeadlineSweep() };
  }
  return shared;
}

/**
 * A kernel without a service around it: it runs every call on this thread, wherever the procedures are placed.
 *
 * @param own options that differ from the defaults
 * @param host `onFault` is a line on stderr by default
 */
function createInlineKernel(
  table: () => ReadonlyMap<string, Procedure>,
  own: Partial<Config> = {},
  { broadcast, onFault }: Pick<CallerOptions, 'broadcast' | 'onFault'> = {},
): Kernel {
  const { config: defaults, log, deadlines } = sharedParts();
  const config = { ...defaults, ...own };
  const { checkResults, timeoutMs, maxReplyBytes } = config;
  const share = new Share<RequestScope>(config.maxStreams, oneCaller);
  const streams = new OpenStreams(config, deadlines, share, undefined);
  const reports = { onFault: onFault ?? logFault(log), onLine: logLine(log) };
  const options = { checkResults, timeoutMs, maxReplyBytes, broadcast, ...reports };
  const orphans = new OrphanCounts();
  const turns = new InlineTurns(oneCaller, deadlines);
  const inline = new InlineExecutor(new InlineHost(options, deadlines, streams, orphans, turns));
  const routing = () => ({
    table: table(),
    isIncomplete: false,
    streams,
    executorFor: () => inline,
  });
  return new Kernel(config, routing, turns);
}
