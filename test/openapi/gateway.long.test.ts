/** A gateway gives the procedures of its members URLs: what a client sees is the same. */
import { before, test } from 'node:test';
import { Router } from '../../src/index.ts';
import router from '../fixtures/openapi/service.ts';
import { suiteLifetime } from '../harness.ts';
import { serve, untilReady } from '../nats/apps.ts';
import { describeNats, NatsServer } from '../nats/server.ts';
import { cases } from './cases/index.ts';
import { ownServer, type Site, type SiteName, sites } from './site.ts';

describeNats('procedures as URLs: a gateway', () => {
  const lifetime = suiteLifetime();
  let server: NatsServer;
  const open = new Map<SiteName, Promise<Site>>();
  before(async () => {
    server = await NatsServer.startFor(lifetime);
    await serve(lifetime, { router, nats: { servers: server.url, role: 'member' } });
  });

  const gateway = async (name: SiteName): Promise<Site> => {
    const nats = { servers: server.url, role: 'gateway' } as const;
    const site = await ownServer('node')(lifetime, { router: new Router(), ...sites[name], nats });
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
