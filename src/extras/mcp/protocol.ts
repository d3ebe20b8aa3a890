import type { Outcome, Reply } from '../../core/protocol/reply.ts';

/** A message that is answered with a fault of the protocol. */
export interface Fault {
  /**
   * What a transport with statuses says differently. `malformed`: the message, or what came with it, is against the protocol;
   * `refused`: the caller may not call, and `code` says who refused; `scope`: what it has signed in for is not enough.
   */
  readonly fault: 'malformed' | 'unknown-method' | 'refused' | 'scope';
  /** The error's code. Of a refusal the one that the hook gave, which the text may not have. */
  readonly code: number;
  /** JSON-RPC error response. */
  readonly text: string;
}

/** What a message is answered with; undefined: it was a notification, and nothing is answered. */
export type McpAnswer = Reply | Fault;

export function isFault(answer: McpAnswer | object): answer is Fault {
  return typeof answer === 'object' && 'fault' in answer;
}

/** Codes of the protocol's own. Those of the service (-32000 and below) must not stand in a response of MCP. */
export const McpCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  HeaderMismatch: -32020,
  UnsupportedVersion: -32022,
} as const;

export type McpCode = (typeof McpCode)[keyof typeof McpCode];

/**
 * A JSON-RPC error response.
 *
 * @param id JSON text; undefined: it is left out, since the protocol has no id null
 * @param data JSON value; undefined: left out
 */
export function errorText(
  id: string | undefined,
  code: number,
  message: string,
  data?: unknown,
): string {
  const head = id === undefined ? '' : `"id":${id},`;
  const tail = data === undefined ? '' : `,"data":${JSON.stringify(data)}`;
  return `{"jsonrpc":"2.0",${head}"error":{"code":${code},"message":${JSON.stringify(message)}${tail}}}`;
}

export function malformed(
  id: string | undefined,
  code: McpCode,
  message: string,
  data?: unknown,
): Fault {
  return { fault: 'malformed', code, text: errorText(id, code, message, data) };
}

export function unknownMethod(id: string | undefined, method: string): Fault {
  const code = McpCode.MethodNotFound;
  return {
    fault: 'unknown-method',
    code,
    text: errorText(id, code, 'Method not found', { method }),
  };
}

/** Codes from -32019 to -32000 mean what a server likes, so clients are told not to read them. */
const minOwn = -32019;
const maxOwn = -32000;

/**
 * The answer to a message whose caller may not call: the error of the hook, as it threw it. Codes that responses of MCP must
 * not have are in the data.
 *
 * @param id JSON text; undefined: it is not known, or the message has none
 */
export function refusedFault(id: string | undefined, { code, text }: Outcome): Fault {
  if (code < minOwn || code > maxOwn) {
    const head = id === undefined ? '' : `"id":${id},`;
    return { fault: 'refused', code, text: `{"jsonrpc":"2.0",${head}"error":${text}}` };
  }
  const { message, data } = JSON.parse(text) as {
    readonly message: string;
    readonly data?: object;
  };
  const told = errorText(id, McpCode.InternalError, message, { code, ...data });
  return { fault: 'refused', code, text: told };
}

/** The answer to a caller who has signed in without these scopes. */
export function scopeFault(id: string | undefined, missing: readonly string[]): Fault {
  const code = McpCode.InvalidRequest;
  const message = `Insufficient scope: sign in for ${missing.join(' ')}`;
  return { fault: 'scope', code, text: errorText(id, code, message, { missing }) };
}

/** The version of the protocol whose requests tell all about themselves: nothing is kept between two of them. */
export const modernVersion = '2026-07-28';

/** Versions that begin with a handshake, the newest first. It is answered, and nothing is kept of it. */
const legacyVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** The one version that has batches. A client that names no version is taken for one of it. */
export const batchVersion = '2025-03-26';

/** The members of `_meta` that are read. */
export const metaNames = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  progress: 'progressToken',
} as const;

export const serverInfoName = 'io.modelcontextprotocol/serverInfo';

export function isLegacy(version: string): boolean {
  return legacyVersions.includes(version);
}

/** The version that a handshake agrees on: that of the client, or the newest one. */
export function agreedVersion(asked: string): string {
  return isLegacy(asked) ? asked : (legacyVersions[0] ?? asked);
}
