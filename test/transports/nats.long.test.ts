import { after, before } from 'node:test';
import { describeNats, NatsServer } from '../nats/server.ts';
import { cuttings } from './cut-proxy.ts';
import { natsEndpoints } from './subjects/nats.ts';
import { conformance } from './suite.ts';

describeNats('the contract of a transport, over a real server of NATS', () => {
  let server: NatsServer;
  before(async () => {
    server = await NatsServer.start({ config: 'max_payload: 8MB' });
  });
  after(() => server.close());
  for (const cutting of [undefined, ...cuttings]) conformance(natsEndpoints(() => server, cutting));
});
