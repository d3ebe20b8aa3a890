import { isMainThread } from 'node:worker_threads';

export type Uws = typeof import('uWebSockets.js');

/** The native module, or in one line why it can't be had here. */
export type UwsLoad =
  | { readonly uws: Uws; readonly reason?: undefined }
  | { readonly uws?: undefined; readonly reason: string };

/** What its parser keeps of headers that are not all there yet: those of 16 KiB, and their request line. */
const longestHead = 24 * 1024;

/** Loads uWebSockets.js at the first call that needs it: importing this file loads no native binary. */
export async function loadUws(): Promise<UwsLoad> {
  if (!isMainThread) {
    // Ending a worker thread that hosts it aborts the whole process.
    return { reason: 'it runs on the main thread only' };
  }
  // Read when the binary loads. Its own 4 KiB would refuse longer headers that come in several packets.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(longestHead);
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
