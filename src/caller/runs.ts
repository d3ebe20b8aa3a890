import { RpcError as ClientError, _r as toRequest } from '../client/index.ts';
import type { Open } from '../client/stream.ts';
import { maxDelayMs } from '../core/base/timer.ts';
import { type Config, resolveConfig } from '../core/config/config.ts';
import { DeadlineSweep, OrphanCounts } from '../core/dispatch/deadline.ts';
import { InlineExecutor, InlineHost } from '../core/dispatch/inline.ts';
import { InlineTurns } from '../core/dispatch/inline-turns.ts';
import { Kernel } from '../core/dispatch/kernel.ts';
import { type CallerFacts, createCallerScope, RequestScope } from '../core/dispatch/scope.ts';
import { oneCaller, Share } from '../core/dispatch/share.ts';
import { OpenStreams } from '../core/dispatch/streams/open-streams.ts';
import { createLog, type Log } from '../core/observe/log.ts';
import type { Broadcast } from '../core/procedures/broadcast.ts';
import type { AuthOf, Env, StateOf } from '../core/procedures/context.ts';
import type { FaultReporter } from '../core/procedures/fault.ts';
import { type AnyRouter, tableOf, versionOf } from '../core/procedures/router.ts';
import type { Procedure } from '../core/procedures/types.ts';
import { RpcError } from '../core/protocol/errors.ts';
import { promised, type Reply, textOfReply } from '../core/protocol/reply.ts';
import { createFetch, type LocalFetch, readStream, runScope } from '../core/service/local.ts';
import { currentTraceContext } from '../core/service/tracing.ts';
import { logFault, logLine } from '../core/service/worker-log.ts';

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

/** How the calls of one `createCaller` run: each as one that comes over HTTP, but for the socket. */
export class CallerRuns {
  readonly fetch: LocalFetch;
  readonly #kernel: Kernel;
  readonly #facts: CallerFacts;

  /** @throws StartupError for an environment variable that can't be */
  constructor(router: AnyRouter, options: CallerOptions) {
    const { state, broadcast, onFault, ...facts } = options;
    this.#facts = facts;
    // Params of any size that a worker would take: there is none here.
    const own = { maxInlineParamsBytes: sharedParts().config.maxBodyBytes };
    const table = 'state' in options ? withState(router, state) : () => tableOf(router);
    this.#kernel = createKernel(table, own, { broadcast, onFault });
    this.fetch = createFetch((body, said) => this.#handle(body, said), []);
  }

  async #handle(
    body: string,
    { signal, timeoutMs }: CallerFacts & { signal?: AbortSignal | undefined },
  ): Promise<string | undefined> {
    // No socket keeps the process alive: a call that waits for nothing must still come to its deadline, or to its caller's end.
    const alive = setTimeout(() => {}, maxDelayMs);
    signal?.addEventListener('abort', () => clearTimeout(alive));
    try {
      const scope = createCallerScope({ ...this.#facts, ...currentTraceContext(), timeoutMs });
      const reply = await runScope(scope, signal, () =>
        promised<Reply>((sink) => this.#kernel.handle(body, scope, sink)),
      );
      return textOfReply(reply);
    } finally {
      clearTimeout(alive);
    }
  }

  async *open(...[call, signal]: Parameters<Open>): ReturnType<Open> {
    const { body } = toRequest([call]);
    const opened = readStream((reader) => {
      const own = createCallerScope({ ...this.#facts, ...currentTraceContext() });
      return runScope(own, signal, (scope) => {
        scope.streams = reader;
        return promised<Reply>((sink) => this.#kernel.handle(body, scope, sink));
      });
    }, signal);
    try {
      return yield* opened;
    } catch (error) {
      if (!RpcError.is(error)) throw error;
      throw new ClientError(error.code, error.message, error.data, call.method);
    }
  }
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

/** See `handleRequest`. */
export async function handlePayload(payload: unknown, router: AnyRouter): Promise<unknown> {
  const reply = await promised<Reply>((sink) =>
    kernelOf(router).handlePayload(payload, new RequestScope(), sink),
  );
  const text = textOfReply(reply);
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

function kernelOf(router: AnyRouter): Kernel {
  let kernel = kernels.get(router);
  if (kernel === undefined) {
    kernel = createKernel(() => tableOf(router));
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
function createKernel(
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
  const inline = new InlineExecutor(
    new InlineHost({ options, deadlines, streams, orphans, turns }),
  );
  const routing = () => ({
    table: table(),
    isIncomplete: false,
    streams,
    executorFor: () => inline,
  });
  return new Kernel(config, routing, turns);
}
