import { exampleUrl } from '../facts.ts';
import { prettyJson } from '../json/raw.ts';
import { requestHeaders } from './headers.ts';
import type { ProcedureSchema } from './registry.ts';

/** What was written for each procedure as its params, for as long as the page is open. */
export const drafts = new Map<string, string>();

/** Params to begin with, as the server makes them; empty for a procedure that declares none. */
export async function exampleFor({ name, parameters }: ProcedureSchema): Promise<string> {
  if (parameters.length === 0) return '';
  const query = new URLSearchParams({ procedure: name });
  try {
    const response = await fetch(`${exampleUrl}?${query}`, { headers: requestHeaders() });
    return response.ok ? prettyJson(await response.text()) : '{}';
  } catch {
    // The service may be restarting: the params can be written without an example.
    return '{}';
  }
}
