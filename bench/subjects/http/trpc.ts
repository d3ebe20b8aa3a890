/**
 * tRPC's standalone adapter. One kind of validator that it takes is a function.
 * https://trpc.io/docs/server/adapters/standalone
 * https://trpc.io/docs/server/validators
 */
import { initTRPC } from '@trpc/server';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { expose } from '../../process/expose.ts';
import { add, checkedAdd } from '../work.ts';
import { portOf } from './arguments.ts';

const t = initTRPC.create();
const router = t.router({
  add: t.procedure.input(checkedAdd).mutation(({ input }) => add(input)),
});
const server = createHTTPServer({
  router,
  middleware: (_request, response, next) => {
    response.setHeader('access-control-allow-origin', '*');
    next();
  },
});

expose(await portOf(server));
