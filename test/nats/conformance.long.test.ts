import { after, before, test } from 'node:test';
import { Conformance } from '../dispatch/executors/clauses.ts';
import { describeNats, NatsServer } from './server.ts';
import { natsSubject } from './subject.ts';

describeNats('the contract of an executor: members over NATS', () => {
  let server: NatsServer;
  before(async () => {
    server = await NatsServer.start();
  });
  const conformance = new Conformance(natsSubject(() => server));
  after(async () => {
    await conformance.end();
    await server.close();
  });
  for (const clause of conformance.clauses) {
    test(clause.name, () => conformance.check(clause));
  }
});
