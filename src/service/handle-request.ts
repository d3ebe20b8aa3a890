import type { Kernel } from '../dispatch/kernel.ts';
import { RequestScope } from '../dispatch/scope.ts';
import { textOfReply } from '../jsonrpc/reply.ts';
import { defaultRouter } from '../router/default.ts';
import { Router, tableOf } from '../router/router.ts';
import type { AnyRouter } from '../router/router-state.ts';
import { createInlineKernel } from './inline-kernel.ts';

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
  const text = textOfReply(await kernelOf(router).handlePayload(payload, new RequestScope()));
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
