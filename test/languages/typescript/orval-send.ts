/** An answer that is an error, with its problem document. */
export class ProblemError<P = unknown> extends Error {
  readonly status: number;
  readonly problem: P;

  constructor(status: number, problem: P) {
    super(`HTTP status ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

/** orval takes the type of errors from this name. */
export type ErrorType<P> = ProblemError<P>;

let baseUrl = '';

/** @param url of the service, without the path of its procedures */
export function setBaseUrl(url: string): void {
  baseUrl = url;
}

/** What all functions of orval send with: it throws if the answer is an error, and reads bytes as a Blob. */
export async function send<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(baseUrl + path, init);
  const type = response.headers.get('content-type') ?? '';
  if (!response.ok) throw new ProblemError(response.status, await response.json());
  if (response.status === 204) return undefined as T;
  return (type.startsWith('application/json') ? response.json() : response.blob()) as Promise<T>;
}
