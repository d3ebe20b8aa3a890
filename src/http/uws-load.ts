import { isMainThread } from 'node:worker_threads';

export type Uws = typeof import('uWebSockets.js');

/** The native module, or in one line why it can't be had here. */
export type UwsLoad =
  | { readonly uws: Uws; readonly reason?: undefined }
  | { readonly uws?: undefined; readonly reason: string };

/** Loads uWebSockets.js at the first call that needs it: importing this file loads no native binary. */
export async function loadUws(): Promise<UwsLoad> {
  if (!isMainThread) {
    // Ending a worker thread that hosts it aborts the whole process.
    return { reason: 'it runs on the main thread only' };
  }
  try {
    const module = await import('uWebSockets.js');
    return { uws: module.default };
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/** Its own message says which Node versions it knows, then why this binary did not load: that is wanted. */
function reasonOf(error: unknown): string {
  const lines = String(error instanceof Error ? error.message : error)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return (lines[1] ?? lines[0] ?? 'unknown').replace(/^Error: /, '');
}
