/**
 * What `import 'tandem-rpc'` loads: the names of index.ts. In a worker thread those of the services have no code behind them.
 * `require` can't wait for what is chosen here: it loads index.ts itself.
 */
import { isReplica } from './core/base/thread-role.ts';

export * from './declare.ts';

const services = isReplica() ? await import('./in-worker.ts') : await import('./index.ts');
export const { Dispatcher, RpcApp, rpcApp } = services;
