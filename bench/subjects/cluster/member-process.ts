/** A member: node member-process.js <server> <service>. */

import { describeProcedure } from '../../../src/core/procedures/document/introspect.ts';
import { tableOf } from '../../../src/core/procedures/router.ts';
import { heartbeatMs, memberLimits } from '../../../src/extras/nats/liveness.ts';
import { Member } from '../../../src/extras/nats/member/member.ts';
import { defaultRetention } from '../../../src/extras/nats/member/remote-gateway.ts';
import { Endpoints } from '../../../src/extras/nats/micro/endpoints.ts';
import { contractOf } from '../../../src/extras/nats/subjects.ts';
import { Dispatcher } from '../../../src/index.ts';
import { expose } from '../../process/expose.ts';
import { connectTo } from './connect.ts';
import router from './procedures.ts';

const [, , server = '', name = ''] = process.argv;
const service = new Dispatcher({ router, logLevel: 'silent' });
await service.ready();
const connection = await connectTo(server);
const document = Buffer.from(JSON.stringify([...tableOf(router).values()].map(describeProcedure)));
const contract = { id: contractOf(document), document };
const id = connection.nuid();
const common = { connection, service, name, id, version: '1.0.0', authenticate: undefined };
const endpoints = new Endpoints({
  ...common,
  started: new Date().toISOString(),
  served: () => ({ names: router.list(), contract: contract.id }),
  forwardHeaders: [],
  maxBodyBytes: 2 ** 20,
  maxDepth: 64,
  natsReplyPrefixes: [],
});
const member = new Member({
  ...common,
  started: Date.now(),
  heartbeatMs,
  silentMs: memberLimits.silentMs,
  maxBodyBytes: 2 ** 20,
  natsTrustAuth: false,
  retention: defaultRetention,
  contract: () => contract,
});
await connection.confirm();

expose(undefined, {
  inFlight: () => member.inFlight,
  drain: () => endpoints.drain(),
});
