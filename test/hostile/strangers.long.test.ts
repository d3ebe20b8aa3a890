import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FaultWorld } from '../nats/fault-world.ts';
import { flood } from '../nats/flood.ts';
import { describeNats } from '../nats/server.ts';

const none = { heartbeats: 0, gateways: 0, hellos: 0, garbage: 0, questions: 0 };

describeNats('a stranger who floods NATS', () => {
  for (const [what, size] of [
    ['60,000 heartbeats of made-up members', { heartbeats: 60_000 }],
    ['40,000 made-up gateways, then 40,000 hellos', { gateways: 40_000, hellos: 40_000 }],
    ['20,000 messages of garbage', { garbage: 20_000 }],
    ['20,000 questions for statistics and documents', { questions: 20_000 }],
  ] as const) {
    test(`${what}: every call has its result, and nobody new is known`, async (t) => {
      const { world, members } = await FaultWorld.open(t, 1);
      await world.load();
      const all = { ...none, ...size };
      const beats = await flood(world.server.url, all);
      await world.callers.more(50);
      await world.end();
      assert.equal(world.members, 1);
      assert.equal(world.front.app.dispatcher.stats().remote?.lost, 0);
      assert.equal(members[0]?.running.child.exitCode, null);
      assert.ok(beats < 4000, `${beats} heartbeats`);
    });
  }
});
