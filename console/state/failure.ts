/** Why the page has nothing to show. */
export interface Failed {
  readonly state: 'failed';
  readonly message: string;
  /** The hook `authenticate` refused the caller. */
  readonly isRefusal: boolean;
}

export function failureOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function failedBy(error: unknown): Failed {
  return { state: 'failed', message: failureOf(error), isRefusal: false };
}

interface Refusal {
  readonly error?: { readonly message?: string; readonly data?: { readonly reason?: string } };
}

/** What a response says that is a refusal below JSON-RPC. */
export function refusedBy({ status }: Response, body: unknown): Failed {
  const { error } = body as Refusal;
  const message = error?.data?.reason ?? error?.message ?? `the server answered ${status}`;
  return { state: 'failed', message, isRefusal: status === 401 || status === 403 };
}
