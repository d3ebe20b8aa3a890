import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  acknowledgementText,
  bodyPart,
  FrameText,
  gapText,
  gotText,
  largeFrame,
  ReplyKind,
  readToGateway,
  readToMember,
  repliesMessage,
  replyPart,
  syncedText,
  syncText,
} from '../../src/extras/nats/wire.ts';
import { anyText } from '../any-text.ts';
import { cases, seed } from '../seed.ts';

const n = fc.nat();
const text = anyText(40);
const plain = { noNullPrototype: true } as const;
const mark = fc.record({ session: n, n, ack: n }, plain);
const replyMark = fc.record({ session: n, n, got: n, load: n }, plain);
const facts = fc.record(
  {
    auth: text,
    ip: text,
    key: text,
    headers: fc.dictionary(text, text, { noNullPrototype: true }),
  },
  { requiredKeys: [], ...plain },
);
const call = fc.record(
  {
    ticket: n,
    follows: fc.boolean(),
    isRead: fc.boolean(),
    timeoutMs: fc.integer({ min: -1 }),
    runMs: fc.integer({ min: -1 }),
    facts,
  },
  plain,
);
/** What is known of the request crosses as text. */
const headOf = (one: typeof call extends fc.Arbitrary<infer One> ? One : never) => ({
  ...one,
  facts: JSON.stringify(one.facts),
});
const bytes = fc.uint8Array({ maxLength: 50 });
const numRuns = cases(300);

describe('the messages between a gateway and a member', () => {
  test('a frame is read as it was made, whatever its texts hold', () => {
    const calls = fc.array(fc.tuple(call, text), { maxLength: 5 });
    fc.assert(
      fc.property(mark, calls, (given, sent) => {
        const frame = new FrameText();
        for (const [one, body] of sent) frame.add(headOf(one), body);
        const expected = sent.map(([one, body]) => ({ ...one, body }));
        const message = frame.toMessage('gw', given);
        // The mark and the names of the members of the line are the rest.
        assert.ok(message.byteLength <= frame.length * 3 + 200);
        assert.deepEqual(readToMember(message), {
          gateway: 'gw',
          kind: 'frame',
          mark: given,
          calls: expected,
        });
      }),
      { seed, numRuns },
    );
  });

  test('bytes come as they are, behind a head', () => {
    fc.assert(
      fc.property(mark, call, replyMark, bytes, (given, one, reply, body) => {
        const frame = readToMember(largeFrame('gw', given, headOf(one), body));
        assert.deepEqual(frame.kind === 'frame' && frame.calls, [
          { ...one, body: Buffer.from(body) },
        ]);
        const part = readToMember(bodyPart('gw', given, 7, 9, body));
        assert.deepEqual(part, {
          gateway: 'gw',
          kind: 'part',
          mark: given,
          ticket: 7,
          total: 9,
          bytes: Buffer.from(body),
        });
        const back = readToGateway(replyPart(reply, 7, body));
        assert.deepEqual(back, { kind: 'part', mark: reply, ticket: 7, bytes: Buffer.from(body) });
        const last = { ticket: 7, kind: ReplyKind.final, code: 0, runUs: 5, body };
        assert.deepEqual(readToGateway(repliesMessage(reply, [last])), {
          kind: 'replies',
          mark: reply,
          replies: [{ ...last, body: Buffer.from(body) }],
        });
      }),
      { seed, numRuns },
    );
  });

  test('replies are read as they were made', () => {
    const reply = fc.record(
      {
        ticket: n,
        kind: fc.constantFrom(ReplyKind.final, ReplyKind.notRun, ReplyKind.lost),
        code: fc.integer(),
        runUs: fc.integer(),
        body: text,
      },
      plain,
    );
    fc.assert(
      fc.property(replyMark, fc.array(reply, { maxLength: 5 }), (given, replies) => {
        const message = readToGateway(repliesMessage(given, replies));
        assert.deepEqual(message, { kind: 'replies', mark: given, replies });
      }),
      { seed, numRuns },
    );
  });

  test('what carries no calls is one line', () => {
    const toMember = (line: string) => readToMember(Buffer.from(line));
    const toGateway = (line: string) => readToGateway(Buffer.from(line));
    const request = { epoch: 3, session: 2, have: 5, next: 8 };
    assert.deepEqual(toMember(syncText('gw', request)), { gateway: 'gw', kind: 'sync', request });
    const ack = { session: 2, ack: 4 };
    for (const acknowledgement of [
      { ack, cancelled: [], granted: [], drained: [] },
      { ack, cancelled: [1, 2], granted: [], drained: [] },
      { ack, cancelled: [1], granted: [7, 32, 900], drained: [7] },
    ]) {
      assert.deepEqual(toMember(acknowledgementText('gw', acknowledgement)), {
        gateway: 'gw',
        kind: 'acknowledgement',
        ...acknowledgement,
      });
    }
    const answer = { epoch: 3, session: 2, got: 7, from: 1 };
    assert.deepEqual(toGateway(syncedText(answer)), { kind: 'synced', answer });
    assert.deepEqual(toGateway(gotText(2, 7)), { kind: 'got', session: 2, got: 7 });
    assert.deepEqual(toGateway(gapText), { kind: 'gap' });
  });

  test('garbage is refused, never read as a message', () => {
    for (const line of [
      '',
      '{}',
      'null',
      '[]',
      '{"g":1}',
      '{"g":"x","s":"1"}',
      '{"s":1}',
      '{"g":"x","s":1,"a":1,"n":1,"c":[1,0,0,0,-1,9]}\nabc',
    ]) {
      assert.throws(() => readToMember(Buffer.from(line)), line);
    }
    for (const line of [
      '',
      '{}',
      'null',
      '{"s":1}',
      '{"s":1,"got":1,"n":1}',
      '{"s":1,"got":1,"n":1,"load":0,"r":[1,0,0,0,9]}\nabc',
    ]) {
      assert.throws(() => readToGateway(Buffer.from(line)), line);
    }
  });
});
