/** How tandem call reads events, where no command shows it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { boundedEventsOf } from '../../src/cli/tools/call.ts';

describe('the reader of events', () => {
  it('cuts a server that never ends an event, and counts each event anew', async () => {
    const event = `data: ${'x'.repeat(92)}\n\n`;
    const read = async (text: string) => {
      const pieces = text.match(/.{1,50}/gs) ?? [];
      const reader = {
        read: async () => {
          const piece = pieces.shift();
          return { done: piece === undefined, value: Buffer.from(piece ?? '') };
        },
      };
      const events: string[] = [];
      const stream = { getReader: () => reader };
      for await (const data of boundedEventsOf(stream, 150)) events.push(data);
      return events.length;
    };
    assert.equal(await read(event.repeat(3)), 3);
    await assert.rejects(
      read(`data: ${'x'.repeat(200)}`),
      /^Error: an event is longer than 150 bytes$/,
    );
  });
});
