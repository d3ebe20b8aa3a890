/** What a client of the URLs sees, the same whichever way it comes in. */
import { describe, test } from 'node:test';
import { suiteLifetime } from '../harness.ts';
import { cases } from './cases/index.ts';
import { openSite, type Site, type SiteName, ways } from './site.ts';

for (const way of ways) {
  describe(`procedures as URLs: ${way.name}`, () => {
    const lifetime = suiteLifetime();
    const open = new Map<SiteName, Promise<Site>>();
    for (const one of cases) {
      const { title, on = 'plain' } = one;
      test(title, async () => {
        const site = open.get(on) ?? openSite(lifetime, way, on);
        open.set(on, site);
        await one.run(await site);
      });
    }
  });
}
