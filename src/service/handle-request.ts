import { type Config, resolveConfig } from '../config/config.ts';
import { DeadlineSweep } from '../dispatch/deadline.ts';
import { InlineExecutor, InlineHost } from '../dispatch/inline.ts';
import { Kernel } from '../dispatch/kernel.ts';
import { RequestScope } from '../dispatch/scope.ts';
import { createLog, type Log } from '../observe/log.ts';
import { defaultRouter } from '../router/default.ts';
import { tableOf } from '../router/router.ts';
import type { AnyRouter } from '../router/router-state.ts';
import { logFault } from './worker-log.ts';

let config: Config | undefined;
let log: Log | undefined;
const deadlines = new DeadlineSweep();
const kernels = new WeakMap<AnyRouter, Kernel>();

/**
 * Handles a payload that is parsed already, on this thread, with the default limits. Never throws, never rejects: an
 * error of any kind is in the response.
 *
 * @param payload a request or an array of requests
 * @returns the response object, or an array of them; undefined where there is nothing to answer (only notifications)
 */
export async function handleRequest(
  payload: unknown,
  router: AnyRouter = defaultRouter,
): Promise<unknown> {
  const reply = await kernelOf(router).handlePayload(payload, new RequestScope());
  return reply === undefined ? undefined : (JSON.parse(reply.toString()) as unknown);
}

function kernelOf(router: AnyRouter): Kernel {
  let kernel = kernels.get(router);
  if (kernel === undefined) {
    config ??= resolveConfig();
    const { checkResults, timeoutMs, maxReplyBytes, logLevel } = config;
    const host = new InlineHost(
      {
        checkResults,
        timeoutMs,
        maxReplyBytes,
        onFault: (fault) => {
          log ??= createLog({ level: logLevel });
          logFault(log)(fault);
        },
      },
      deadlines,
    );
    const inline = new InlineExecutor(host);
    kernel = new Kernel(config, () => ({
      table: tableOf(router),
      placesByLength: false,
      executorFor: () => inline,
    }));
    kernels.set(router, kernel);
  }
  return kernel;
}
