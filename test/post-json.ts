interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

/** Sends a body as JSON. */
export function postJson(
  url: string | URL,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** Calls a procedure over HTTP. */
export async function callAt(
  url: string | URL,
  method: string,
  params: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const reply = await postJson(url, { jsonrpc: '2.0', id: 1, method, params }, headers);
  return (await reply.json()) as Answer;
}
