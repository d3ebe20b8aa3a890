import { findNatsServer, needs } from '../../nats/nats-server.ts';
import { BodyFuzzer } from './bodies.ts';
import { FrameFuzzer } from './frames.ts';
import { HttpFuzzer } from './http.ts';
import { McpFuzzer } from './mcp.ts';
import { NatsFuzzer } from './nats.ts';
import { PoolFuzzer } from './pool.ts';
import type { Fuzzer } from './run.ts';
import { SchemaWorkFuzzer } from './schema-work.ts';
import { PooledSchemaFuzzer, SchemaFuzzer } from './schemas.ts';
import { ToolSchemaFuzzer } from './tool-schemas.ts';
import { UrlFuzzer } from './urls.ts';

interface Kind {
  readonly start: () => Promise<Fuzzer>;
  /** Cases of one round: some seconds of work, so that the kinds take turns. */
  readonly round: number;
  /** Says what this machine lacks; undefined: nothing. */
  readonly lacks?: () => string | undefined;
}

/** By the name that --only takes. */
export const fuzzers: Readonly<Record<string, Kind>> = {
  bodies: { start: () => BodyFuzzer.start(), round: 300 },
  http: { start: () => HttpFuzzer.start(), round: 1000 },
  mcp: { start: () => McpFuzzer.start(), round: 300 },
  urls: { start: () => UrlFuzzer.start(), round: 500 },
  nats: {
    start: () => NatsFuzzer.start(),
    round: 100,
    lacks: () => (findNatsServer() === undefined ? needs : undefined),
  },
  frames: { start: () => FrameFuzzer.start(), round: 150 },
  schemas: { start: () => SchemaFuzzer.start(), round: 1000 },
  'schema-work': { start: async () => new SchemaWorkFuzzer(), round: 300 },
  'tool-schemas': { start: async () => new ToolSchemaFuzzer(), round: 25 },
  'pooled-schemas': { start: () => PooledSchemaFuzzer.start(), round: 3 },
  pool: { start: () => PoolFuzzer.start(), round: 3 },
};
