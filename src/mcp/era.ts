import { type Fault, McpCode, malformed } from './answer.ts';
import type { McpHead } from './client.ts';
import type { Message } from './message.ts';
import { isLegacy, metaNames, modernVersion } from './versions.ts';

/** Whether a message is one of the modern version, or was meant to be one: the body decides, then the header. */
export function isModern({ meta }: Message, head: McpHead | undefined): boolean {
  if (meta !== undefined && (meta.version !== undefined || meta.hasCapabilities)) return true;
  return head?.version !== undefined && !isLegacy(head.version);
}

/** What is wrong with a modern message beside what it asks for; undefined: nothing. */
export function modernFault(message: Message, head: McpHead | undefined): Fault | undefined {
  const { id, meta, method, name } = message;
  const version = meta?.version;
  if (version === undefined) return lacks(id, metaNames.version);
  const mismatch = (header: string, given: string | undefined): Fault => {
    const what = given === undefined ? 'is missing' : 'differs from the body';
    return malformed(id, McpCode.HeaderMismatch, `Header mismatch: ${header} ${what}`);
  };
  if (head !== undefined && head.version !== version) {
    return mismatch('MCP-Protocol-Version', head.version);
  }
  if (version !== modernVersion) {
    return malformed(id, McpCode.UnsupportedVersion, 'Unsupported protocol version', {
      supported: [modernVersion],
      requested: version,
    });
  }
  if (meta?.hasCapabilities !== true) return lacks(id, metaNames.capabilities);
  if (head === undefined) return undefined;
  if (head.method !== method) return mismatch('Mcp-Method', head.method);
  if (method === 'tools/call' && decoded(head.name) !== name) {
    return mismatch('Mcp-Name', head.name);
  }
  return undefined;
}

function lacks(id: string | undefined, member: string): Fault {
  return malformed(id, McpCode.InvalidParams, `Invalid params: _meta lacks ${member}`);
}

const encoded = /^=\?base64\?([\d+/A-Za-z]*={0,2})\?=$/;

/** A name as a header carries it: what is not plain ASCII is base64. */
function decoded(name: string | undefined): string | undefined {
  const [, base64] = encoded.exec(name ?? '') ?? [];
  return base64 === undefined ? name : Buffer.from(base64, 'base64').toString();
}
