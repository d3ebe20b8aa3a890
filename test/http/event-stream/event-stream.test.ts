import { describe, test } from 'node:test';
import { asking } from './cases/asking.ts';
import { connections } from './cases/connections.ts';
import { ends } from './cases/ends.ts';
import { readers } from './cases/readers.ts';
import { wire } from './cases/wire.ts';
import { Stage, ways } from './stage.ts';

const cases = [...wire, ...asking, ...ends, ...readers, ...connections];

for (const way of ways) {
  describe(`server-sent events: ${way.name}`, () => {
    for (const { name, options, http, run } of cases) {
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
