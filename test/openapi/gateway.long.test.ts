/** A gateway gives the procedures of its members URLs: what a client sees is the same. */
import { after, before, test } from 'node:test';
import { Router } from '../../src/index.ts';
import router from '../fixtures/openapi/service.ts';
import { serve, untilReady } from '../nats/apps.ts';
import { describeNats, NatsServer } from '../nats/server.ts';
import { cases } from './cases/index.ts';
import { ownServer, type Site, type SiteName, sites } from './site.ts';

describeNats('procedures as URLs: a gateway', () => {
  let server: NatsServer;
  const open = new Map<SiteName, Promise<Site>>();
  const ends: (() => Promise<void>)[] = [];
  before(async () => {
    server = await NatsServer.start();
    const lifetime = { after: (end: () => Promise<void>) => ends.push(end) };
    await serve(lifetime, { router, nats: { servers: server.url, role: 'member' } });
  });
  after(async () => {
    for (const site of open.values()) await (await site).close();
    for (const end of ends) await end();
    await server.close();
  });

  const gateway = async (name: SiteName): Promise<Site> => {
    const nats = { servers: server.url, role: 'gateway' } as const;
    const site = await ownServer('node')({ router: new Router(), ...sites[name], nats });
    await untilReady(`http://127.0.0.1:${site.port}/rpc`);
    return site;
  };

  for (const one of cases) {
    const { title, on = 'plain', isInline } = one;
    // A gateway runs nothing itself.
    if (isInline === true) continue;
    test(title, async () => {
      const site = open.get(on) ?? gateway(on);
      open.set(on, site);
      await one.run(await site);
    });
  }
});
