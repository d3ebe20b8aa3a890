import assert from 'node:assert/strict';
import type { Outcome } from '../../../src/core/protocol/reply.ts';
import { turn } from '../../turns.ts';
import type { Bench, Streaming } from './bench.ts';
import { endsOnce } from './expect.ts';

/** What holds for each stream at any time: nothing is missing, doubled or out of its place, and nothing follows its end. */
export function assertInOrder({ reader }: Streaming): void {
  assert.deepEqual(reader.faults, []);
  assert.deepEqual(
    reader.values,
    Array.from(reader.values, (_, i) => String(i)),
    'values in order, none lost',
  );
}

/**
 * A stream that has opened, whose end comes.
 *
 * @param codes one of them is that of its end; 0: it has returned
 */
export async function streamEnds(
  bench: Bench,
  streaming: Streaming,
  ...codes: number[]
): Promise<Outcome> {
  const { sent, reader } = streaming;
  await endsOnce(bench, sent, 0);
  const outcome = await reader.ended();
  await turn();
  assertInOrder(streaming);
  const { code } = outcome;
  const what = `${sent.call.procedure.name} ${sent.tag}`;
  assert.ok(codes.includes(code), `${what} ended with ${code}, not ${codes.join(' or ')}`);
  assert.deepEqual(bench.endsOf(sent), [code], `the end of ${what} is reported once`);
  return outcome;
}

/** What the error of an end says. */
export function dataOf({ ok, text }: Outcome): Readonly<Record<string, unknown>> {
  assert.ok(!ok);
  return (JSON.parse(text) as { data: Record<string, unknown> }).data;
}
