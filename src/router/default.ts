import { Router } from './router.ts';
import type { Rpc } from './rpc.ts';

/** The router of programs that need only one. */
export const defaultRouter = new Router();

/** `defaultRouter.rpc`. */
export const rpc: Rpc = defaultRouter.rpc;
