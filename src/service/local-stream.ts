import { PullReader } from '../dispatch/streams/pull-reader.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { type Reply, textOfReply } from '../jsonrpc/reply.ts';

/** The members of a response, or of how a stream ended, that are read here. */
interface Ended {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/**
 * Reads the stream of one call in the same process.
 *
 * @param call runs the request with the reader as its host
 * @param signal ends the stream
 * @returns yields the values, returns what the stream returned; a call that does not stream yields nothing
 * @throws RpcError where the call fails, or the stream ends with an error
 */
export async function* readStream(
  call: (reader: PullReader) => Promise<Reply>,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown, unknown, undefined> {
  const reader = new PullReader();
  const reply = await call(reader);
  if (!reader.hasOpened) {
    const text = textOfReply(reply);
    return text === undefined ? undefined : resultOf(JSON.parse(text) as Ended);
  }
  const onAbort = (): void => reader.abort();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) reader.abort();
  try {
    for (;;) {
      const step = await reader.next();
      if (typeof step !== 'string') {
        const value: unknown = JSON.parse(step.text);
        return resultOf(step.ok ? { result: value } : ({ error: value } as Ended));
      }
      yield JSON.parse(step) as unknown;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    reader.cancel();
  }
}

function resultOf({ result, error }: Ended): unknown {
  if (error === undefined) return result;
  throw new RpcError(error.code, error.message, error.data);
}
