import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BodyFuzzer } from './fuzz/bodies.ts';
import { FrameFuzzer } from './fuzz/frames.ts';
import { HttpFuzzer } from './fuzz/http.ts';
import { McpFuzzer } from './fuzz/mcp.ts';
import { type Fuzzer, seed } from './fuzz/run.ts';
import { SchemaWorkFuzzer } from './fuzz/schema-work.ts';
import { PooledSchemaFuzzer, SchemaFuzzer } from './fuzz/schemas.ts';
import { ToolSchemaFuzzer } from './fuzz/tool-schemas.ts';
import { UrlFuzzer } from './fuzz/urls.ts';

/** A fixed number of cases. fresh-seeds.long.test.ts has some times as many, `npm run fuzz` goes on for as long as it is told. */
const kinds: readonly (readonly [string, number, () => Promise<Fuzzer>])[] = [
  ['bodies have the answer of the reference by every way', 8, () => BodyFuzzer.start()],
  ['bytes on a socket: no crash, no hang, no second answer', 15, () => HttpFuzzer.start()],
  ['frames on a WebSocket: every answer once, every value in order', 15, () => FrameFuzzer.start()],
  [
    'messages of MCP have the answer of the model, over both servers and as lines',
    15,
    () => McpFuzzer.start(),
  ],
  ['requests to URLs of procedures have the answer of the model', 25, () => UrlFuzzer.start()],
  ['what validates comes back, what does not is refused', 25, () => SchemaFuzzer.start()],
  [
    'types that refer to each other: right verdicts, in a time in proportion to the value',
    20,
    async () => new SchemaWorkFuzzer(),
  ],
  [
    'tools are told by schemas that both dialects can read, and that hold',
    8,
    async () => new ToolSchemaFuzzer(),
  ],
  ['in a worker too', 1, () => PooledSchemaFuzzer.start()],
];

describe(`hostile data at random (FUZZ_SEED=${seed})`, () => {
  for (const [name, runs, start] of kinds) {
    test(name, async () => {
      const fuzzer = await start();
      try {
        await fuzzer.run({ seed, runs });
      } finally {
        await fuzzer.close();
      }
    });
  }

  test('a fuzzer that never fails proves nothing: the reference is held against a wrong one', async () => {
    // The same bodies, where the service is asked for another version of the protocol.
    const fuzzer = await BodyFuzzer.startInline({ strict: true });
    try {
      await assert.rejects(
        fuzzer.run({ seed, runs: 200, shrinks: false }),
        /--seed \d+ --path [\d:]+\n/,
      );
    } finally {
      await fuzzer.close();
    }
  });
});
