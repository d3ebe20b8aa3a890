import { RpcApp } from './app.ts';
import { defaultRouter } from '../router/default.ts';

/** A server of the default router, with default options. Importing it starts nothing. */
export const rpcApp = new RpcApp(defaultRouter);
