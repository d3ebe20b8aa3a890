import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createLog } from '../../src/core/observe/log.ts';
import { Dispatcher } from '../../src/core/service/dispatcher.ts';
import { connectNats } from '../../src/extras/nats/connection/connect.ts';
import { Gateway } from '../../src/extras/nats/gateway/gateway.ts';
import { lessLoadedOfTwo } from '../../src/extras/nats/gateway/remote-pool.ts';
import { Conformance } from '../dispatch/executors/clauses.ts';
import type { Subject } from '../dispatch/executors/subject.ts';
import { fixture } from '../files.ts';
import router from '../fixtures/executors/procedures.ts';
import { patience } from '../patience.ts';
import { natsOptions, RecordedEvents } from './connected.ts';
import { documentOf, gatewayOptions, longMs, memberOf, streamsOf } from './parts.ts';
import { describeNats, NatsServer } from './server.ts';

/** A gateway's executor, with one member in the same process, over a real server. */
function natsSubject(server: () => NatsServer): Subject {
  return {
    name: 'nats',
    router,
    abilities: { runs: true, stopsThreads: true, streams: true, batches: false },
    cases: { mixes: 8, closes: 2 },
    open: async ({ observer, maxReplyBytes }) => {
      const { url } = server();
      const events = new RecordedEvents();
      const [toGateways, toMembers] = await Promise.all(
        ['a member', 'a gateway'].map((name) => connectNats(natsOptions(url, { name }), events)),
      );
      assert.ok(toGateways !== undefined && toMembers !== undefined);
      const service = new Dispatcher({
        ...patience,
        modules: [fixture('executors/in-workers.ts')],
        workers: 1,
        spareWorkers: 0,
        niceIncrement: 0,
        maxRequestMs: longMs,
        maxReplyBytes,
        checkResults: 'refuse',
        logLevel: 'silent',
        metrics: false,
      });
      await service.ready();
      // A service of its own: others of the suite may still be closing.
      const name = `s${toGateways.nuid()}`;
      const member = memberOf(toGateways, service, toGateways.nuid(), documentOf(router), {
        name,
        heartbeatMs: 500,
        maxBodyBytes: 2 ** 20,
        natsTrustAuth: false,
      });
      const { deadlines, streams } = streamsOf(observer);
      const gateway = new Gateway(
        {
          ...gatewayOptions,
          connection: toMembers,
          name,
          id: toMembers.nuid(),
          memberLimits: { ...gatewayOptions.memberLimits, inFlight: 10_000 },
          maxReplyBytes,
          maxQueue: 10_000,
          choose: lessLoadedOfTwo,
          streams,
        },
        observer,
        createLog({ level: 'silent' }),
      );
      await new Promise<void>((resolve) => {
        gateway.onProcedures = resolve;
      });
      return {
        executor: gateway.executor,
        streams,
        close: async (graceMs) => {
          await Promise.all([streams.drain('shutdown', graceMs, 0), gateway.close(graceMs)]);
          member.close();
          await service.close(0);
          await Promise.all([toGateways.close(), toMembers.close()]);
          deadlines.close();
          assert.deepEqual(events.told, []);
        },
      };
    },
  };
}

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
