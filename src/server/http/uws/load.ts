import { isMainThread } from 'node:worker_threads';

export type Uws = typeof import('uWebSockets.js');

/** Why the native module is not available here, and what makes it available, as parts of one line. */
export interface UwsMissing {
  readonly uws?: undefined;
  readonly reason: string;
  readonly advice?: string;
}

export type UwsLoad = { readonly uws: Uws; readonly reason?: undefined } | UwsMissing;

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
    return explain(error);
  }
}

const otherBuild =
  'run Node 24, or take a build of its authors by "overrides" in package.json (SECURITY.md, Native code)';
const otherSystem =
  'run on a system with glibc 2.38 or newer, such as the image node:24-trixie-slim';
/** npm chooses the package by the system on which it runs, and there is none for musl. */
const installed =
  'install on the system that serves, with glibc (not Alpine) and without --omit=optional';

/** What the errors of a load say, and what they mean to an operator. */
export function explain(error: unknown): UwsMissing {
  const text = String(error instanceof Error ? error.message : error);
  const [major] = process.versions.node.split('.');
  const [, platformPackage] = /Cannot find package '(tandem-rpc-uws-[\w-]+)'/.exec(text) ?? [];
  if (platformPackage !== undefined) {
    return { reason: `its package ${platformPackage} is not installed`, advice: installed };
  }
  if (/Cannot find package/.test(text)) {
    return { reason: 'it is not installed', advice: 'install without --omit=optional' };
  }
  if (/Cannot find module '(?:\.|tandem-rpc-uws-[\w-]+)\/uws_/.test(text)) {
    const reason = `it has no binary for Node ${major} on ${process.platform} ${process.arch}`;
    return { reason, advice: otherBuild };
  }
  const glibc = /GLIBC_[\d.]+/.exec(text)?.[0].replace('_', ' ').toLowerCase();
  if (glibc !== undefined) {
    const reason = `its binary for Node ${major} needs ${glibc} or newer, which this system does not have`;
    return { reason, advice: otherSystem };
  }
  // How the loader of musl (Alpine) begins.
  if (/Error (?:loading shared library|relocating)/.test(text)) {
    return {
      reason: 'its binaries need glibc, which this system does not have',
      advice: otherSystem,
    };
  }
  // The module's message lists the Node versions that it supports, and then says why this binary did not load.
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return { reason: (lines[1] ?? lines[0] ?? 'unknown').replace(/^Error: /, '') };
}

/** Text or bytes as the native code may be given them. */
export type NativeText = (data: string | Uint8Array) => string | Uint8Array;

/**
 * The binaries for Node 23 and later send a string that V8 holds in one byte for each character as Latin-1 (issue 1280
 * of uWebSockets.js). They read it by `String::ValueView`, which older versions of V8 do not have. Those for Node 22
 * and earlier send UTF-8. See docs/architecture.md, "Decisions".
 *
 * @param modules `process.versions.modules`, by which a binary is chosen
 */
export function createNativeText(modules: string): NativeText {
  return Number(modules) <= lastRight ? (data) => data : asciiOrBytes;
}

/** That of Node 22, whose V8 is the last one without `String::ValueView`. */
const lastRight = 127;

function asciiOrBytes(data: string | Uint8Array): string | Uint8Array {
  if (typeof data !== 'string' || Buffer.byteLength(data) === data.length) return data;
  return Buffer.from(data);
}

/**
 * Everything that is sent through a response or a WebSocket of uWebSockets.js, and is not a constant, passes through
 * here. Where the binary sends all strings right, this function does nothing.
 */
export const nativeText: NativeText = createNativeText(process.versions.modules);
