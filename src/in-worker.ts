/**
 * What a worker thread has instead of the services, which can't start there and whose code is larger than all else that the
 * thread loads. A module that is loaded in every thread may make one at its top level. Whatever is called on it rejects, as
 * the start of a service does.
 */
import { assertMainSide } from './core/base/thread-role.ts';
import { type AnyRouter, defaultRouter, Router } from './core/procedures/router.ts';

const refuse = async (): Promise<void> => assertMainSide('start a service');

/** Has `refuse` for each member that a service or a part of it may have. None of these is asked whether it is a promise. */
const anyMember = new Proxy(Function.prototype, {
  get: (known, name) => {
    const isOwn = typeof name === 'symbol' || name === 'then' || name in known;
    return isOwn ? Reflect.get(known, name) : refuse;
  },
});
Object.setPrototypeOf(refuse, anyMember);

export class Dispatcher {
  readonly router: AnyRouter;

  constructor(given: AnyRouter | { readonly router?: AnyRouter } = defaultRouter) {
    this.router = (Router.is(given) ? given : given.router) ?? new Router();
  }

  async close(): Promise<void> {}
}
Object.setPrototypeOf(Dispatcher.prototype, anyMember);

export class RpcApp extends Dispatcher {
  get dispatcher(): this {
    return this;
  }

  async listen(): Promise<void> {
    assertMainSide('listen');
  }

  /** What it is mounted in gets no request in a worker. */
  nodeHandler(): typeof refuse {
    return refuse;
  }

  upgradeHandler(): typeof refuse {
    return refuse;
  }

  fetchHandler(): typeof refuse {
    return refuse;
  }
}

export const rpcApp = new RpcApp();
