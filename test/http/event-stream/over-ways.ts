import { describe, test } from 'node:test';
import { needs } from '../../servers.ts';
import { asking } from './cases/asking.ts';
import { clients } from './cases/clients.ts';
import { connections } from './cases/connections.ts';
import { ends } from './cases/ends.ts';
import { readers } from './cases/readers.ts';
import { wire } from './cases/wire.ts';
import { Stage, type ways } from './stage.ts';

const cases = [...wire, ...asking, ...ends, ...connections, ...clients];
/** Whom the cases of readers, which take long, would tell nothing new: they have the handler of node:http. */
const dressed = /Express|Fastify/;

/** Runs all cases over each of these ways in. */
export function overWays(chosen: typeof ways): void {
  for (const way of chosen) {
    describe(`server-sent events: ${way.name}`, needs(way.server), () => {
      const all = dressed.test(way.name) ? cases : [...cases, ...readers];
      for (const { name, options, http, run } of all) {
        test(name, async () => {
          const stage = await Stage.open(way, options, http);
          try {
            await run(stage);
          } finally {
            await stage.close();
          }
        });
      }
    });
  }
}
