import assert from 'node:assert/strict';
import { DeadlineSweep } from '../../src/dispatch/deadline.ts';
import { OpenStreams } from '../../src/dispatch/streams/open-streams.ts';
import { connectNats } from '../../src/nats/connection/connect.ts';
import { lessLoadedOfTwo } from '../../src/nats/gateway/choose.ts';
import { Gateway } from '../../src/nats/gateway/gateway.ts';
import { Member } from '../../src/nats/member/member.ts';
import { defaultRetention } from '../../src/nats/member/member-options.ts';
import { describeProcedure } from '../../src/router/document/description.ts';
import { tableOf } from '../../src/router/router.ts';
import { Dispatcher } from '../../src/service/dispatcher.ts';
import type { Subject } from '../dispatch/executors/subject.ts';
import { fixture } from '../files.ts';
import router from '../fixtures/executors/procedures.ts';
import { patience } from '../patience.ts';
import { natsOptions, RecordedEvents } from './connected.ts';
import { quietEvents } from './quiet-events.ts';
import type { NatsServer } from './server.ts';

const timeoutMs = 600_000;

/** A gateway's executor, with one member in the same process, over a real server. */
export function natsSubject(server: () => NatsServer): Subject {
  return {
    name: 'nats',
    abilities: { runs: true, stopsThreads: true, streams: true },
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
        timeoutMs,
        maxRequestMs: timeoutMs,
        maxReplyBytes,
        checkResults: 'refuse',
        logLevel: 'silent',
        metrics: false,
      });
      await service.ready();
      // A service of its own: others of the suite may still be closing.
      const name = `s${toGateways.nuid()}`;
      const document = JSON.stringify([...tableOf(router).values()].map(describeProcedure));
      const member = new Member({
        connection: toGateways,
        service,
        name,
        id: toGateways.nuid(),
        version: '1.0.0',
        started: 0,
        heartbeatMs: 500,
        silentMs: timeoutMs,
        maxBodyBytes: 2 ** 20,
        trustsAuth: false,
        retention: defaultRetention,
        authenticate: undefined,
        contract: () => ({ id: 'c1', document: () => Buffer.from(document) }),
      });
      const deadlines = new DeadlineSweep();
      const limits = { timeoutMs, maxStreamMs: 0, maxStreams: 10_000 };
      const streams = new OpenStreams(limits, deadlines, { open: 0 }, observer);
      const gateway = new Gateway(
        {
          connection: toMembers,
          name,
          id: toMembers.nuid(),
          memberSilentMs: timeoutMs,
          memberHungMs: timeoutMs,
          memberGoneMs: timeoutMs,
          namesKeptMs: timeoutMs,
          memberInFlight: 10_000,
          memberBytes: 2 ** 23,
          maxReplyBytes,
          maxQueue: 10_000,
          maxQueueMs: timeoutMs,
          shares: { keyOf: () => '', weightOf: () => 1 },
          choose: lessLoadedOfTwo,
          streams,
        },
        observer,
        quietEvents,
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
