import { McpCode } from '../../mcp/answer.ts';
import { type Answer, rejection } from '../edge/answer.ts';

/** Refuses a request below the protocol: as `rejection`, without the id null, which MCP does not have. */
export function mcpRejection(
  status: number,
  reason: string,
  headers: readonly string[] = [],
): Answer {
  return withoutNullId(rejection(status, reason, { headers }));
}

/** How the replies of this edge begin whose id is not known. */
const nullId = '{"jsonrpc":"2.0","id":null,';

/** Codes that clients must not meet: what they mean here is told by the status. */
const ownCode = /"code":-320[01]\d,/;

/** A refusal of the edge in the words of MCP: without an id, and without codes that mean what a server likes. */
export function withoutNullId(answer: Answer): Answer {
  const { body } = answer;
  if (typeof body !== 'string' || !body.startsWith(nullId)) return answer;
  const text = `{"jsonrpc":"2.0",${body.slice(nullId.length)}`;
  return { ...answer, body: text.replace(ownCode, `"code":${McpCode.InvalidRequest},`) };
}
