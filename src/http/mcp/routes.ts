import { type Answer, bodyless } from '../edge/answer.ts';
import { mcpRejection } from './rejection.ts';

/** Headers of a preflight on the path of MCP, beside those of the origin: what clients that run in pages send. */
const preflightHeaders: readonly string[] = [
  'access-control-allow-methods',
  'POST, OPTIONS',
  'access-control-allow-headers',
  'content-type, authorization, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id, traceparent, rpc-timeout-ms',
  'access-control-max-age',
  '86400',
];

/** Answers every request on the path of MCP that is no POST, by its method: there are no sessions and no events to GET. */
export function createMcpRoutes(path: string): (method: string) => Answer {
  const preflight = bodyless(204, preflightHeaders);
  const notAllowed = mcpRejection(405, `use POST on ${path}`, ['allow', 'POST, OPTIONS']);
  return (method) => (method === 'OPTIONS' ? preflight : notAllowed);
}
