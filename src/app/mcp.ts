import { createRequire } from 'node:module';
import type { Config } from '../config/config.ts';
import { McpServer } from '../mcp/server.ts';
import type { Log } from '../observe/log.ts';
import type { Dispatcher } from '../service/dispatcher.ts';

/** How long clients may keep a list of tools. While the modules are watched, the next list may be another one. */
const ttlMs = 60_000;

/** What answers agents. */
export function createMcpServer(dispatcher: Dispatcher): McpServer {
  const { mcpName, mcpTools, watch, maxDepth, maxBatch, maxReplyBytes }: Config = dispatcher.config;
  // By the package's own name: the path to package.json differs between src/ and dist/.
  const { version } = createRequire(import.meta.url)('tandem-rpc/package.json') as {
    readonly version: string;
  };
  return new McpServer(dispatcher, {
    name: mcpName,
    version,
    tools: mcpTools,
    ttlMs: watch ? 0 : ttlMs,
    limits: { maxDepth, maxBatch },
    maxReplyBytes,
  });
}

/** Says where a pattern of `mcpTools` leaves nothing to offer, which is likely a slip. */
export async function warnOfNoTools(server: McpServer, log: Log): Promise<void> {
  const unmatched = (await server.catalogue())?.unmatched ?? [];
  for (const pattern of unmatched) {
    log.warn({ event: 'mcp-tools' }, `mcpTools: no procedure is called ${pattern}`);
  }
}
