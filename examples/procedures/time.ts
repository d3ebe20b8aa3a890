import { setTimeout } from 'node:timers/promises';
import { Router, Type } from 'tandem-rpc';

export const time = new Router();

time.rpc(
  {
    name: 'sleep',
    doc: 'Waits, and tells how long it was asked to; ends early when the caller goes away.',
    params: Type.Object({ ms: Type.Integer({ minimum: 0, maximum: 60_000 }) }),
    returns: Type.Object({ ms: Type.Integer() }),
  },
  async ({ ms }, { signal }) => {
    await setTimeout(ms, undefined, { signal });
    return { ms };
  },
);

time.rpc(
  {
    name: 'now',
    doc: "The server's clock, ISO 8601.",
    params: Type.Object({}),
    returns: Type.String(),
    placement: 'inline',
  },
  () => new Date().toISOString(),
);
