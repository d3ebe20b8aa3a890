import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Bytes, eventsOf } from '../../src/client/event-lines.ts';

const text =
  ':\n\ndata: one\r\n\r\nevent: x\ndata:two\rdata:  three é\r\r: c\ndata\n\nid: 4\ndata: 5\n\n\n';
const expected = ['one', 'two\n three é', '5'];

/** Bytes that come in pieces of `size`. */
function inPieces(bytes: Uint8Array, size: number): Bytes {
  let at = 0;
  const read = async () => {
    const value = bytes.subarray(at, at + size);
    at += size;
    return { done: value.length === 0, value };
  };
  return { getReader: () => ({ read }) };
}

async function eventsIn(bytes: Bytes): Promise<string[]> {
  const events: string[] = [];
  for await (const event of eventsOf(bytes)) events.push(event);
  return events;
}

describe('the reader of events', () => {
  it('takes every end of a line, wherever the pieces are cut', async () => {
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) {
      assert.deepEqual(await eventsIn(inPieces(bytes, size)), expected, `pieces of ${size}`);
    }
  });
});
