import { defaultRouter } from '../router/default.ts';
import { RpcApp } from './app.ts';

/** A server of the default router, with default options. Its first use starts it; importing it starts nothing. */
export const rpcApp = new RpcApp(defaultRouter);
