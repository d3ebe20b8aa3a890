/** What a client of the URLs sees, the same whichever way it comes in. */
import { after, describe, test } from 'node:test';
import { cases } from './cases/index.ts';
import { openSite, type Site, type SiteName, ways } from './site.ts';

for (const way of ways) {
  describe(`procedures as URLs: ${way.name}`, () => {
    const open = new Map<SiteName, Promise<Site>>();
    after(async () => {
      for (const site of open.values()) await (await site).close();
    });
    for (const one of cases) {
      const { title, on = 'plain' } = one;
      test(title, async () => {
        const site = open.get(on) ?? openSite(way, on);
        open.set(on, site);
        await one.run(await site);
      });
    }
  });
}
