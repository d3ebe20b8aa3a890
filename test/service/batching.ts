import { fixture, Running } from './running.ts';

const modules = [fixture('procedures.ts'), fixture('costly.ts'), fixture('batches.ts')];

export interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

/** A service of the batch procedures. */
export async function started(
  t: Parameters<typeof Running.make>[0],
  options: Parameters<typeof Running.make>[1] = {},
): Promise<Running> {
  const running = Running.make(t, { modules, ...options });
  await running.dispatcher.ready();
  return running;
}

/** Calls that come in one turn of the event loop. */
export async function all(running: Running, method: string, count: number): Promise<Reply[]> {
  const { file } = running.journal;
  const calls = Array.from({ length: count }, (_, id) =>
    running.dispatcher.dispatch({ method, params: { file, text: `${id}` }, id }),
  );
  return (await Promise.all(calls)) as Reply[];
}

export const results = (replies: readonly Reply[]): unknown[] =>
  replies.map(({ result }) => result);
