import { isMainThread } from 'node:worker_threads';

export type Uws = typeof import('uWebSockets.js');

/** The native module; or one line that says why it is not available here. */
export type UwsLoad =
  | { readonly uws: Uws; readonly reason?: undefined }
  | { readonly uws?: undefined; readonly reason: string };

/** Bytes of an incomplete head that the parser keeps: 16 KiB of headers and the request line. */
const longestHead = 24 * 1024;

/** Loads uWebSockets.js at the first call. Importing this file loads no native binary. */
export async function loadUws(): Promise<UwsLoad> {
  if (!isMainThread) {
    // Ending a worker thread that hosts uWebSockets.js aborts the whole process.
    return { reason: 'it runs on the main thread only' };
  }
  // The binary reads this variable when it loads. Its default of 4 KiB would refuse longer headers that come in
  // several packets.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(longestHead);
  try {
    const module = await import('uWebSockets.js');
    return { uws: module.default };
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/**
 * The module's message lists the Node versions that it supports, and then says why this binary did not load. The
 * second part is returned.
 */
function reasonOf(error: unknown): string {
  const lines = String(error instanceof Error ? error.message : error)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return (lines[1] ?? lines[0] ?? 'unknown').replace(/^Error: /, '');
}
