import { ownVersion } from '../../core/base/package-files.ts';
import type { Config } from '../../core/config/config.ts';
import type { Log } from '../../core/observe/log.ts';
import type { Dispatcher } from '../../core/service/dispatcher.ts';
import { McpServer } from './server.ts';

/** How long clients may keep a list of tools. While the modules are watched, the next list may be another one. */
const ttlMs = 60_000;

export function createMcpServer(dispatcher: Dispatcher): McpServer {
  const { mcpName, mcpTools, watch, maxDepth, maxBatch, maxReplyBytes }: Config = dispatcher.config;
  return new McpServer(dispatcher, {
    name: mcpName,
    version: ownVersion(),
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
