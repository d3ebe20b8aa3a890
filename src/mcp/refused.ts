import type { Outcome } from '../jsonrpc/reply.ts';
import { errorText, type Fault, McpCode } from './answer.ts';

/** Codes from -32019 to -32000 mean what a server likes, so clients are told not to read them. */
const leastOwn = -32019;
const mostOwn = -32000;

/**
 * The answer to a message whose caller may not call: the error of the hook, as it threw it. Codes that responses of MCP must
 * not have are in the data.
 *
 * @param id JSON text; undefined: it is not known, or the message has none
 */
export function refusedFault(id: string | undefined, { code, text }: Outcome): Fault {
  if (code < leastOwn || code > mostOwn) {
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
