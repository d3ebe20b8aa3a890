import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { ReplyMemory } from '../../../src/core/dispatch/reply-memory.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { EventStream } from '../../../src/server/http/event-stream/event-stream.ts';

const keepAlive = ':\n\n';
const pingMs = 5;

describe('an event stream', () => {
  test('goes on to say that it is there, once a client that was slow for long has read', async () => {
    const stream = new EventStream(
      {
        streamPingMs: pingMs,
        bodyTimeoutMs: 60_000,
        replyMemory: new ReplyMemory(1024 ** 2),
      },
      new RequestScope(),
    );
    let onWrite = (_text: string): boolean => false;
    const firstWrite = new Promise<string>((resolve) => {
      onWrite = (text) => {
        resolve(text);
        return false;
      };
    });
    stream.start({ write: (texts) => onWrite(texts.join('')), end() {}, cut() {} }, [], () => {});
    assert.equal(await firstWrite, keepAlive);
    // The timer of the next comment is older than this one, and due before it: it has fired, and could write nothing.
    await after(10 * pingMs);
    const more = new Promise<string>((resolve) => {
      let written = '';
      onWrite = (text) => {
        written += text;
        if (written.length === 3 * keepAlive.length) resolve(written);
        return true;
      };
    });
    stream.drained();
    assert.equal(await more, keepAlive.repeat(3));
    stream.leave();
  });
});
